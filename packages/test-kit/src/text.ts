import fc from "fast-check";

/** The code points from here on that are no characters: halves of pairs, in UTF-16. */
const FIRST_HALF = 0xd800;
const HALVES = 0x800;
const LAST = 0x10_ff_ff;

const character = fc.nat(LAST - HALVES).map((n) => String.fromCodePoint(n < FIRST_HALF ? n : n + HALVES));

/**
 * Draws texts of any characters of Unicode. fast-check's own (`unit: "binary"`) makes a table of all of them first, which
 * takes a second and 100 MB in each process.
 */
export function anyText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: character, ...constraints });
}
