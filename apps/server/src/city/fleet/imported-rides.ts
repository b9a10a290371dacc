import type { Database, Queryable, Transaction } from "../../storage/db/database.ts";
import { recordDeletedRows } from "../changes/service.ts";
import { countRides } from "../counts/service.ts";
import {
  countUntouchedRides,
  deleteUntouchedRides,
  type ImportedRides,
  listChangedRides,
  listUntouchedRides,
  type RideMark,
} from "./ride-import-queries.ts";

export type { ImportedRides } from "./ride-import-queries.ts";

/** Rides deleted in one transaction: more keep others from the counts for longer, fewer commit more often. */
const BATCH_ROWS = 20_000;
/** Ids that are shown of rides that were changed. */
const SHOWN = 3;

/** Returns how many of an import's `made` rides were changed since, and some of their ids. */
export async function changedSince(
  db: Queryable,
  rides: ImportedRides,
  made: number,
): Promise<{ readonly n: number; readonly examples: readonly string[] }> {
  const n = made - (await countUntouchedRides(db, rides));
  return { n, examples: n === 0 ? [] : await listChangedRides(db, rides, SHOWN) };
}

/** Options of deleting an import's rides. */
export interface RideDeletion {
  /** Gives a slot of the counts for each transaction. */
  readonly slot: () => number;
  /** Called in each transaction with how many rides it deletes. */
  readonly record: (tx: Transaction, rides: number) => Promise<void>;
  /** Called between two transactions with the number of deleted rides; an error from it ends the deletion. */
  readonly onProgress: (deleted: number) => void;
  /** Rides in one transaction. */
  readonly batchRows?: number | undefined;
}

/**
 * Deletes an import's rides that are as it wrote them, with their counts, in transactions of a bounded size. Makes no
 * events. Cut off, it is completed by calling it again.
 * @returns how many it deleted
 */
export async function deletePastRides(
  db: Database,
  rides: ImportedRides,
  { slot, record, onProgress, batchRows = BATCH_ROWS }: RideDeletion,
): Promise<number> {
  let deleted = 0;
  let after: RideMark | undefined;
  for (;;) {
    const batch = await listUntouchedRides(db, rides, after, batchRows);
    after = batch.at(-1);
    if (after === undefined) return deleted;
    const ids = batch.map(({ id }) => id);
    deleted += await db.transaction(async (tx) => {
      const starts = await deleteUntouchedRides(tx, rides, ids);
      if (starts.length > 0) await recordDeletedRows(tx, rides.systemId, "rides");
      await record(tx, starts.length);
      countRides(tx, rides.systemId, slot(), { deleted: starts });
      return starts.length;
    });
    onProgress(deleted);
  }
}
