import fc from "fast-check";
import { expect, it } from "vitest";
import { fetchSize, jsonField, splitRows, startOf, timePosition, toPage } from "./page.ts";

/** Rows as the database joins them; JSON escapes line ends, so no row holds one. */
const rows = fc.array(
  fc.string({ unit: fc.constantFrom("a", ",", "}", "{", "\\n", "😀", '"') }).map((text) => `{${text}}`),
  { minLength: 1, maxLength: 60 },
);

it("splits rows where they were joined, whatever they contain", () => {
  fc.assert(
    fc.property(rows, fc.integer({ min: 1, max: 70 }), (items, limit) => {
      const { items: shown, lastOfMore } = splitRows(items.join(",\n"), limit);
      expect(shown).toBe(items.slice(0, limit).join(",\n"));
      expect(lastOfMore).toBe(items.length > limit ? items[limit - 1] : undefined);
    }),
  );
});

it("makes an empty page of no rows", () => {
  expect(splitRows(null, 50)).toEqual({ items: "", lastOfMore: undefined });
});

it("one more row is fetched than any limit shows", () => {
  for (let limit = 1; limit <= 200; limit++) expect(fetchSize(limit)).toBeGreaterThan(limit);
  expect(fetchSize(50)).toBe(51);
});

it("the next position is the last shown item's, when more follow", () => {
  const json = (id: string) => JSON.stringify({ id });
  const joined = ["a", "b", "c"].map(json).join(",\n");
  const page = (limit: number, kind: "first" | "cursor") =>
    toPage(kind === "first" ? { kind, limit } : { kind, limit, after: "" }, { rows: joined, total: 3 }, (text) =>
      jsonField(text, "id"),
    );
  expect(page(2, "first")).toMatchObject({ next: "b", total: 3 });
  expect(page(3, "first")).toMatchObject({ next: undefined, total: 3 });
  expect(page(1, "cursor")).toMatchObject({ next: "a", total: undefined });
});

it("a JSON without the field that orders it is a failure, not a wrong cursor", () => {
  expect(() => jsonField(`{"name":"a"}`, "id")).toThrow(/has no id/);
});

it("a page begins behind those before it, exactly, up to numbers that no list reaches", () => {
  expect(startOf({ kind: "page", page: 3, limit: 50 })).toEqual({ skip: 100 });
  expect(startOf({ kind: "first", limit: 50 })).toEqual({ skip: 0 });
  expect(startOf({ kind: "cursor", after: "x", limit: 50 })).toEqual({ after: "x" });
  expect(startOf({ kind: "page", page: Number.MAX_SAFE_INTEGER, limit: 200 })).toEqual({
    skip: Number.MAX_SAFE_INTEGER,
  });
});

it("a position by time and id is read as it was written, whatever the id", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T00:00:00Z"), noInvalidDate: true }),
      fc.string({ unit: "grapheme", minLength: 1 }),
      (at, id) => {
        const position = { at: at.toISOString(), id };
        expect(timePosition.decode(timePosition.encode(position))).toEqual(position);
      },
    ),
  );
  for (const text of ["", "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z ", "now ride", "2026-01-01 ride"])
    expect(timePosition.decode(text)).toBeUndefined();
});
