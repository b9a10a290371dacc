import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Database } from "../db/database.ts";
import { openPastRides, preparePastRides } from "./ride-import-queries.ts";
import {
  clearPastRides,
  findHeldOrTriedRides,
  insertTriedRides,
  prepareTrialRides,
} from "./ride-import-trial-queries.ts";
import type { PastRidesWritten } from "./ride-import.ts";

/** Says what writing past rides would do. One call after the other. */
export type TryPastRides = (lines: () => Readable, rows: number) => Promise<PastRidesWritten>;

/**
 * Tries past rides without writing any: what was tried before counts as if it had been written. It is set aside in a
 * temporary table, so the database needs room for it until `work` is done.
 */
export function tryPastRides<Result>(
  db: Database,
  systemId: string,
  work: (tryBatch: TryPastRides) => Promise<Result>,
): Promise<Result> {
  return db.transaction(async (tx) => {
    await preparePastRides(tx);
    await prepareTrialRides(tx);
    return work(async (lines, rows) => {
      await clearPastRides(tx);
      await pipeline(lines(), openPastRides(tx));
      const hours = await insertTriedRides(tx, systemId);
      const created = hours.reduce((sum, { n }) => sum + n, 0);
      const { differing } = created === rows ? { differing: [] } : await findHeldOrTriedRides(tx, systemId);
      return { created, unchanged: rows - created - differing.length, differing };
    });
  });
}
