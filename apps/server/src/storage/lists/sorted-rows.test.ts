import { compareIds } from "@bikeshare/rules";
import fc from "fast-check";
import { expect, it } from "vitest";
import { SortedRows } from "./sorted-rows.ts";

interface Row {
  readonly id: string;
  readonly time: number;
  readonly text: string | null;
  readonly number: number | null;
}

const rowOf = fc.record({
  id: fc.constantFrom("a", "b", "Ä", "～", "\u{1f6b2}", "c", "d", "e", "f", "g", "h", "i"),
  text: fc.constantFrom("x", "y", null),
  number: fc.option(fc.nat(3), { nil: null }),
});
const written = fc.uniqueArray(rowOf, { selector: ({ id }) => id });
const steps = fc.array(
  fc.oneof(
    written.map((rows) => ({ rows, removed: [] as string[] })),
    fc.subarray(["a", "c", "Ä", "i", "nobody"]).map((removed) => ({ rows: [], removed })),
  ),
);

it("selects what a plain look at all rows selects, whatever was written and removed before", () => {
  fc.assert(
    fc.property(
      steps,
      fc.boolean(),
      fc.constantFrom("asc" as const, "desc" as const),
      fc.record({ skip: fc.nat(4), limit: fc.integer({ min: 1, max: 5 }), behind: fc.option(fc.nat(12)) }),
      (all, isTimed, direction, { skip, limit, behind }) => {
        const model = new Map<string, Row>();
        const rows = new SortedRows({ text: "text", number: "number" });
        for (const { rows: some, removed } of all) {
          const timed = some.map((row) => ({
            ...row,
            time: isTimed ? row.id.length * 1000 + (row.id.charCodeAt(0) % 3) : 0,
          }));
          rows.write({
            ids: timed.map(({ id }) => id),
            times: timed.map(({ time }) => time),
            columns: { text: timed.map(({ text }) => text), number: timed.map(({ number }) => number) },
          });
          for (const row of timed) model.set(row.id, row);
          if (isTimed) continue;
          rows.remove(removed);
          for (const id of removed) model.delete(id);
        }
        const inOrder = [...model.values()].sort((a, b) => a.time - b.time || compareIds(a.id, b.id));
        if (direction === "desc") inOrder.reverse();
        const last = behind === null ? undefined : inOrder[behind];
        const passing = inOrder.filter(({ text, number }) => text === "x" && (number ?? -1) >= 1);
        const rest =
          last === undefined ? passing : passing.filter((row) => inOrder.indexOf(row) > inOrder.indexOf(last));
        const [texts, numbers, code] = [rows.texts("text"), rows.numbers("number"), rows.code("text", "x")];
        const keep = (passes: (row: number) => boolean) => (found: Uint32Array, n: number) => {
          const kept = [...found.subarray(0, n)].filter(passes);
          found.set(kept);
          return kept.length;
        };
        const sieves = [keep((row) => texts[row] === code), keep((row) => Number(numbers[row]) >= 1)];
        const after = last === undefined ? undefined : { time: last.time, id: last.id };
        const skipped = last === undefined ? skip : 0;
        expect(rows.select({ sieves, direction, after, skip: skipped, limit })).toEqual({
          ids: rest.slice(skipped, skipped + limit).map(({ id }) => id),
          total: last === undefined ? rest.length : undefined,
        });
      },
    ),
    { seed: 1, numRuns: 1000 },
  );
});

it("tells 70,000 texts of a column apart, and ids of any length", () => {
  const all = Array.from({ length: 70_000 }, (_, n) => n);
  const ids = all.map((n) => String(n).padStart(5, "0") + (n === 40_000 ? "Ä".repeat(200) : ""));
  const rows = new SortedRows({ text: "text" });
  for (const from of [0, 69_000]) {
    const some = all.slice(from);
    const columns = { text: some.map((n) => `text ${n}`) };
    rows.write({ ids: ids.slice(from), times: some.map(() => 0), columns });
  }
  for (const n of [0, 254, 255, 256, 40_000, 65_534, 65_535, 65_536, 69_999]) {
    const [column, code] = [rows.texts("text"), rows.code("text", `text ${n}`)];
    const isWanted = (found: Uint32Array, count: number) => {
      const kept = found.subarray(0, count).filter((row) => column[row] === code);
      found.set(kept);
      return kept.length;
    };
    const selected = rows.select({ sieves: [isWanted], direction: "asc", skip: 0, limit: 2 });
    expect(selected).toEqual({ ids: [ids[n]], total: 1 });
  }
});
