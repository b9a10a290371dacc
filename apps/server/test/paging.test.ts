import { randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { bikeRow, rideRow, type RowWriter, rowWriter, stationRow } from "./rows.ts";
import { compareBytes, type Item, refused, slice, walkByCursor, walkByPage, withQuery } from "./walk.ts";

let app: TestApp;
let write: RowWriter;
let turn = 0;

beforeAll(async () => {
  app = await startTestApp();
  write = rowWriter(app, () => turn++ % 16);
});

/** Deletes the rows as the service does, with their counts, so that the next test also tests these counts. */
afterEach(clear);
afterAll(() => app.close());

async function clear(): Promise<void> {
  for (const list of ["rides", "stations", "bikes"] as const) {
    const rows = await app.db.query<{ id: string }>(statement("", `select id from ${list}`));
    if (rows.length > 0)
      await write.remove(
        list,
        rows.map(({ id }) => id),
      );
  }
}

/** Draws ids whose order by bytes and by letters differs, and some that break careless JSON or SQL. */
const itemId = fc.string({
  unit: fc.constantFrom("a", "B", "0", "-", " ", "é", "日", "😀", "'", '"', "\\", "\n", "%", "/"),
  minLength: 1,
  maxLength: 4,
});

/** Hours at the end or beginning of days, months, a leap month and a year, and one in the middle. */
const hours = ["2023-12-31T23", "2024-01-01T00", "2024-02-29T23", "2024-03-01T00", "2024-03-01T01", "2024-03-15T12"];
const startedAt = fc
  .tuple(fc.constantFrom(...hours), fc.constantFrom("00:00.000", "00:00.001", "30:00.000", "59:59.999"))
  .map(([hour, rest]) => `${hour}:${rest}Z`);

/** The lists. Each has a function that makes a row from an id and an instant, and the order of the list. */
const lists = [
  {
    list: "stations",
    make: (id: string) => stationRow({ id }),
    order: (a: Item, b: Item) => compareBytes(a.id, b.id),
    field: "name",
  },
  {
    list: "bikes",
    make: (id: string) => bikeRow({ id }),
    order: (a: Item, b: Item) => compareBytes(a.id, b.id),
    field: "number",
  },
  {
    list: "rides",
    make: (id: string, at: string) => rideRow({ id, started_at: at }),
    order: (a: Item, b: Item) =>
      -compareBytes(String(a["started_at"]), String(b["started_at"])) || -compareBytes(a.id, b.id),
    field: "vehicle_type_id",
  },
] as const;

const rows = (count: { min: number; max: number }) =>
  fc.uniqueArray(fc.record({ id: itemId, at: startedAt }), {
    selector: ({ id }) => id,
    minLength: count.min,
    maxLength: count.max,
  });

describe.each(lists)("the list of $list", ({ list, make, order, field }) => {
  const path = `/v1/${list}`;
  const insert = async (made: readonly { id: string; at: string }[]) => {
    const items = made.map(({ id, at }) => make(id, at));
    await (write[list] as (rows: readonly unknown[]) => Promise<void>)(items);
    // Advances the clock so that the known depths of the list may be learnt again. Deep pages then use another method.
    app.clock.advance(3_000);
    return items as unknown as Item[];
  };

  it("gives every item that was there throughout exactly once, in order, to a walk by cursor while it changes", async () => {
    const change = fc.record({
      kind: fc.constantFrom("insert", "update", "delete"),
      at: startedAt,
      id: itemId,
      pick: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(
        rows({ min: 0, max: 60 }),
        fc.array(change, { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 10 }),
        async (initial, changes, limits) => {
          await clear();
          const items = await insert(initial);
          const present = new Set(items.map(({ id }) => id));
          const staying = new Set(present);
          let step = 0;
          const disturb = async () => {
            for (const { kind, at, id, pick } of changes.splice(0, 4)) {
              const chosen = [...present][pick % Math.max(1, present.size)];
              if (kind === "insert" && !present.has(id) && !initial.some((row) => row.id === id)) {
                present.add(id);
                await insert([{ id, at }]);
              } else if (kind === "delete" && chosen !== undefined) {
                present.delete(chosen);
                staying.delete(chosen);
                await write.remove(list, [chosen]);
              } else if (kind === "update" && chosen !== undefined) {
                await write.update(list, chosen, {
                  [field]: `changed ${pick}`,
                  updated_at: "2026-06-01T00:00:00.000Z",
                });
              }
            }
          };
          const walked = await walkByCursor(app, path, () => limits[step++ % limits.length]!, disturb);
          expect(walked).toEqual([...walked].sort(order));
          const ids = walked.map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(new Set(ids).intersection(staying)).toEqual(staying);
        },
      ),
      { numRuns: randomRuns(5) },
    );
  });

  it("gives each item once to a walk by page, and page P of L is the items (P-1)*L+1 to P*L", async () => {
    await fc.assert(
      fc.asyncProperty(
        rows({ min: 0, max: 80 }),
        fc.integer({ min: 1, max: 90 }),
        fc.integer({ min: 1, max: 90 }),
        async (made, limit, page) => {
          await clear();
          const items = (await insert(made)).sort(order);
          expect(await walkByPage(app, path, Math.max(limit, 7))).toEqual(items);
          expect(await walkByCursor(app, path, Math.max(limit, 7))).toEqual(items);
          const pages = Math.max(1, Math.ceil(items.length / limit));
          const url = withQuery(path, { limit, page });
          if (page > pages) {
            const answer = await refused(app, url);
            expect(answer).toMatchObject({ status: 400, error: "page_out_of_range" });
            expect(answer.message).toMatch(new RegExp(`\\b${page}\\b.*\\b${pages}\\b`));
          } else {
            expect(await slice(app, url)).toEqual({
              data: items.slice((page - 1) * limit, page * limit),
              page,
              total_pages: pages,
            });
          }
        },
      ),
      { numRuns: randomRuns(5) },
    );
  });

  it("is one empty page when it is empty", async () => {
    const empty = { data: [], page: 1, total_pages: 1 };
    expect(await slice(app, path)).toEqual(empty);
    expect(await slice(app, `${path}?page=1&limit=7`)).toEqual(empty);
    expect(await refused(app, `${path}?page=2`)).toMatchObject({
      status: 400,
      error: "page_out_of_range",
      message: expect.stringContaining("1") as string,
    });
  });

  it.each(["0", "-1", "1.5", "abc", "1e9", "", " 1", "0x10", "+1", "٣", "00"])(
    "refuses %j as limit and as page, by name",
    async (value) => {
      for (const name of ["limit", "page"]) {
        const answer = await refused(app, withQuery(path, { [name]: value }));
        expect(answer).toMatchObject({ status: 400, error: "invalid_parameter" });
        expect(answer.message).toMatch(new RegExp(`^${name} must be an integer, 1 or more`));
      }
    },
  );

  it("refuses a parameter that is given twice, by name", async () => {
    for (const name of ["limit", "page", "cursor", "updated_since"]) {
      const answer = await refused(app, `${path}?${name}=1&${name}=1`);
      expect(answer).toMatchObject({ status: 400, error: "invalid_parameter" });
      expect(answer.message).toContain(`${name} must be given once`);
    }
  });

  it("refuses page together with cursor", async () => {
    await insert([
      { id: "a", at: `${hours[0]}:00:00.000Z` },
      { id: "b", at: `${hours[0]}:00:00.000Z` },
    ]);
    const { next_cursor: cursor } = await slice(app, `${path}?limit=1`);
    const answer = await refused(app, `${path}?limit=1&page=1&cursor=${cursor}`);
    expect(answer).toMatchObject({ status: 400, error: "invalid_parameter" });
    expect(answer.message).toMatch(/page and cursor/);
  });

  it("takes at most 200 for a limit, whatever larger number is asked", async () => {
    await insert(
      Array.from({ length: 203 }, (_, index) => ({
        id: `item ${index}`,
        at: `${hours[index % hours.length]}:00:00.000Z`,
      })),
    );
    for (const limit of ["200", "201", "1000000000", "0200", "9".repeat(400)]) {
      const page = await slice(app, `${path}?limit=${limit}`);
      expect([limit.slice(0, 9), page.data.length, page.total_pages]).toEqual([limit.slice(0, 9), 200, 2]);
    }
    expect((await slice(app, `${path}?limit=199`)).data.length).toBe(199);
    const far = await refused(app, `${path}?limit=200&page=${"9".repeat(30)}`);
    expect(far).toMatchObject({
      status: 400,
      error: "page_out_of_range",
      message: expect.stringContaining("2 with a limit of 200") as string,
    });
  });

  it("takes a cursor with another limit, and without its row", async () => {
    const items = (
      await insert(
        Array.from({ length: 9 }, (_, index) => ({ id: `item ${index}`, at: `${hours[index % 3]}:00:00.000Z` })),
      )
    ).sort(order);
    const { next_cursor: cursor } = await slice(app, `${path}?limit=3`);
    expect((await slice(app, withQuery(path, { cursor, limit: 2 }))).data).toEqual(items.slice(3, 5));
    expect((await slice(app, withQuery(path, { cursor }))).data).toEqual(items.slice(3));
    await write.remove(list, [items[2]!.id, items[3]!.id]);
    expect((await slice(app, withQuery(path, { cursor, limit: 200 }))).data).toEqual(items.slice(4));
  });

  it("ends a walk without a cursor when everything behind it is deleted", async () => {
    const items = (
      await insert([1, 2, 3].map((index) => ({ id: `item ${index}`, at: `${hours[0]}:00:00.000Z` })))
    ).sort(order);
    const { next_cursor: cursor } = await slice(app, `${path}?limit=1`);
    await write.remove(
      list,
      items.slice(1).map(({ id }) => id),
    );
    expect(await slice(app, withQuery(path, { cursor }))).toEqual({ data: [] });
  });

  it("refuses a cursor that is empty, damaged, cut, or another list's", async () => {
    await insert([
      { id: "a", at: `${hours[0]}:00:00.000Z` },
      { id: "b", at: `${hours[0]}:00:00.000Z` },
    ]);
    const { next_cursor: cursor = "" } = await slice(app, `${path}?limit=1`);
    const flipped = Array.from(
      cursor,
      (character, index) => `${cursor.slice(0, index)}${character === "A" ? "B" : "A"}${cursor.slice(index + 1)}`,
    );
    const wrong = [
      "",
      cursor.slice(1),
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}=`,
      `${cursor} `,
      cursor + cursor,
      "x".repeat(5000),
      "😀",
      "\0",
      ...flipped,
    ];
    for (const value of wrong) {
      expect(await refused(app, withQuery(path, { cursor: value })), value).toMatchObject({
        status: 400,
        error: "invalid_cursor",
      });
    }
    for (const other of lists) {
      if (other.list === list) continue;
      expect(await refused(app, `/v1/${other.list}?cursor=${cursor}`)).toMatchObject({
        status: 400,
        error: "invalid_cursor",
      });
    }
  });

  it("refuses a cursor under other filters than it was given for", async () => {
    await insert([
      { id: "a", at: `${hours[0]}:00:00.000Z` },
      { id: "b", at: `${hours[0]}:00:00.000Z` },
    ]);
    const since = `${path}?updated_since=2020-01-01T00:00:00Z`;
    const unfiltered = (await slice(app, `${path}?limit=1`)).next_cursor;
    const filtered = (await slice(app, `${since}&limit=1`)).next_cursor;
    expect((await slice(app, withQuery(since, { cursor: filtered }))).data).toHaveLength(1);
    for (const [url, cursor] of [
      [path, filtered],
      [since, unfiltered],
      [`${path}?updated_since=2021-01-01T00:00:00Z`, filtered],
    ] as const) {
      expect(await refused(app, withQuery(url, { cursor }))).toMatchObject({ status: 400, error: "invalid_cursor" });
    }
  });
});
