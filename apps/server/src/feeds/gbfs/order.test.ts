import { createTestIds, randomRuns } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { applySnapshot } from "./apply.ts";
import { readStationInformation, readStationStatus } from "./documents.ts";
import type { GbfsSnapshot } from "./snapshot.ts";

let database: TestDatabase;
beforeAll(async () => void (database = await createTestDatabase()));
afterAll(() => database.close());

const NOW = Date.UTC(2025, 5, 2);
const IDS = ["a", "b", "c"];

/** One document of a feed, with some of the stations. */
interface Part {
  readonly feed: "information" | "status";
  readonly at: number;
  readonly stations: readonly object[];
}

const flag = fc.boolean();
const status = fc.record({ is_installed: flag, is_renting: flag, is_returning: flag, num_bikes_available: fc.nat(3) });
const location = fc.record({ name: fc.constantFrom("x", "y"), lat: fc.constant(1), lon: fc.constant(2) });
const document = (at: number, feed: Part["feed"], record: fc.Arbitrary<object>): fc.Arbitrary<Part> =>
  fc
    .tuple(
      ...IDS.map((station_id) =>
        fc.option(
          record.map((fields) => ({ station_id, ...fields })),
          { nil: undefined },
        ),
      ),
    )
    .map((stations) => ({ feed, at, stations: stations.filter((station) => station !== undefined) }));
const history = fc
  .tuple(...[1, 2, 3, 4].flatMap((at) => [document(at, "information", location), document(at, "status", status)]))
  .map((parts) => parts.filter((part) => part.stations.length > 0));

/** Returns each document whole, or split into several documents with the same time. */
const cut = (parts: readonly Part[], whole: readonly boolean[]): Part[] =>
  parts.flatMap((part, i) => (whole[i] ? [part] : part.stations.map((station) => ({ ...part, stations: [station] }))));

function snapshotOf({ feed, at, stations }: Part): GbfsSnapshot {
  const json = { last_updated: NOW / 1000 + at, data: { stations } };
  return feed === "information"
    ? { information: readStationInformation(json, NOW) }
    : { status: readStationStatus(json, NOW) };
}

let systems = 0;
const ids = createTestIds();
async function stationsAfter(snapshots: readonly GbfsSnapshot[]) {
  const systemId = `s${++systems}`;
  for (const snapshot of snapshots) {
    await applySnapshot(database.db, { systemId, source: "gbfs", now: NOW, ids }, snapshot);
  }
  // All snapshots are applied at the same time, so that rows differ only if the states of stations do.
  return database.db.query(
    { name: "", text: "select json, absent_snapshots, was_installed from stations where system_id = $1 order by id" },
    [systemId],
  );
}

test("any order and any cutting of information and status feeds ends in the same stations", async () => {
  const scenario = history.chain((parts) =>
    fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }).chain((whole) => {
      const pieces = cut(parts, whole);
      return fc.record({
        parts: fc.constant(parts),
        shuffled: fc.shuffledSubarray(pieces, { minLength: pieces.length }),
      });
    }),
  );
  await fc.assert(
    fc.asyncProperty(scenario, async ({ parts, shuffled }) => {
      expect(await stationsAfter(shuffled.map(snapshotOf))).toEqual(await stationsAfter(parts.map(snapshotOf)));
    }),
    { numRuns: randomRuns(6) },
  );
});

test("information and status in one snapshot are the same as one after the other", async () => {
  await fc.assert(
    fc.asyncProperty(history, async (parts) => {
      const times = [...new Set(parts.map(({ at }) => at))];
      const together = times.map(
        (at) => Object.assign({}, ...parts.filter((part) => part.at === at).map(snapshotOf)) as GbfsSnapshot,
      );
      expect(await stationsAfter(together)).toEqual(await stationsAfter(parts.map(snapshotOf)));
    }),
    { numRuns: randomRuns(3) },
  );
});
