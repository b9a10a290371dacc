import { listFilters } from "@bikeshare/rules";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pagesOf, readerOf } from "../bench/lists/reader.ts";
import { type Combination, combinationsOf } from "../bench/lists/requests.ts";
import { fillWith, type ListName } from "../bench/lists/rows.ts";
import { type Meter, openMeter } from "../bench/lists/work.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

/** Rows of each list. Enough to notice a read that counts or skips the whole list. */
const ROWS = 6_000;
/**
 * Most rows and index entries that a page may read: the rows of the page. For events also the block in which the page
 * begins, and the first event of each name, of all partners and of this one.
 */
const MOST_VISITED: Readonly<Record<string, number>> = { stations: 100, bikes: 100, reservations: 100, events: 1_900 };

/** Without rides, which have a separate test: filtered-visits.test.ts. */
const lists = (Object.keys(listFilters) as ListName[]).filter((list) => list !== "rides");

describe.each(lists)("a page of %s, from a table that nobody has analysed", (list) => {
  let database: TestDatabase;
  let meter: Meter;
  let combinations: Combination[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    const { db } = database;
    await db.transaction(async (tx) => {
      if (list !== "events") await tx.run(`alter table ${list} set (autovacuum_enabled = off)`);
    });
    await fillWith(db, list, ROWS);
    meter = await openMeter(db.connectionString);
    combinations = await combinationsOf(db, list);
  });
  afterAll(async () => {
    await meter.close();
    await database.close();
  });

  it("by any filter or pair of filters looks at hardly more rows than it shows, by number and by cursor", async () => {
    const read = await readerOf(list, database.db, meter);
    const tooMany: Record<string, number> = {};
    const seen = new Set<string>();
    for (const { filters: names, text, query } of combinations) {
      seen.add(names);
      const filters = Object.fromEntries(new URLSearchParams(query));
      for (const [page, request] of await pagesOf(read, filters)) {
        const { visited } = await meter.look(() => read(filters, request));
        if (visited > (MOST_VISITED[list] ?? 0)) tooMany[`${page} page, ${text}`] = visited;
      }
    }
    expect(tooMany).toEqual({});
    expect(seen).toEqual(new Set(everyPair(Object.keys(listFilters[list]))));
  });
});

function everyPair(names: readonly string[]): string[] {
  return names.flatMap((one, index) => [one, ...names.slice(index + 1).map((other) => `${one} + ${other}`)]);
}
