import { randomBytes } from "node:crypto";
import { isWellFormedKey } from "@bikeshare/rules";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeKey } from "./key.rules.ts";

const kind = fc.constantFrom("live" as const, "test" as const, "operator" as const);
/** Random bytes that are the same in each run, those included that must be left out. */
const bytes = fc.array(fc.nat(255), { minLength: 64, maxLength: 64 }).map((values) => {
  let turn = 0;
  return (count: number) => Uint8Array.from({ length: count }, () => values[turn++ % 64]! % (turn > 500 ? 62 : 256));
});

describe("a key", () => {
  it("is its prefix and 40 characters of base 62, and well formed", () => {
    fc.assert(
      fc.property(kind, bytes, (which, random) => {
        const key = makeKey(which, random);
        expect(key).toMatch(new RegExp(`^bss_${which}_[0-9A-Za-z]{40}$`));
        expect(isWellFormedKey(key)).toBe(true);
      }),
    );
  });

  it("uses each character of base 62 alike", () => {
    const counts = new Map<string, number>();
    for (let made = 0; made < 2000; made++) {
      for (const character of makeKey("live", randomBytes).slice(9, 43))
        counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    // 68,000 characters: 1,097 of each, ± 33. Bytes taken modulo 62 without leaving any out would make 8 of them 1,328.
    expect(counts.size).toBe(62);
    for (const count of counts.values()) expect(Math.abs(count - 1097)).toBeLessThan(200);
  });

  it("is refused when any one of its characters is another, lost, doubled or swapped with its neighbour", () => {
    const key = makeKey("live", (count) => Uint8Array.from({ length: count }, (_, index) => (index * 7) % 248));
    for (let index = 0; index < key.length; index++) {
      const [before, after] = [key.slice(0, index), key.slice(index + 1)];
      for (let code = 0; code < 256; code++) {
        const character = String.fromCharCode(code);
        if (character !== key[index]) expect(isWellFormedKey(before + character + after)).toBe(false);
        expect(isWellFormedKey(before + character + key.slice(index))).toBe(false);
      }
      expect(isWellFormedKey(before + after)).toBe(false);
      const swapped = before + (after[0] ?? "") + key[index] + after.slice(1);
      if (swapped !== key) expect(isWellFormedKey(swapped)).toBe(false);
    }
  });

  it("is nothing that somebody invents", () => {
    fc.assert(fc.property(fc.stringMatching(/^bss_live_[0-9A-Za-z]{40}$/), (text) => !isWellFormedKey(text)));
    for (const text of ["", "bss_live_", "bss_live_ ", "constructor"]) expect(isWellFormedKey(text)).toBe(false);
  });

  it("of one kind is not one of another", () => {
    const key = makeKey("test", randomBytes);
    expect(isWellFormedKey(key.replace("test", "live"))).toBe(false);
  });
});
