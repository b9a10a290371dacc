import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import { askTogether } from "../../storage/background/within.ts";
import type { Database } from "../../storage/db/database.ts";
import type { ReadPool } from "../../storage/db/read-pool.ts";
import { REMOVED_BIKES_KEPT_DAYS, type Standing } from "./change.rules.ts";
import { deletePastRemovedBikes, findChangeState, findHorizon, type FollowedTable } from "./queries.ts";

export { type Checkpoint, checkpointText, lossOf, nextSince } from "./change.rules.ts";
export {
  findHorizon as horizonOfList,
  type FollowedTable,
  insertRemovedBikes as recordRemovedBikes,
  updateResets as recordDeletedRows,
} from "./queries.ts";

/** Tells up to which position the changes of lists are complete. */
export interface ChangeWatch {
  /** Returns the state of a list's changes. Call it before the rows of a walk are read. @param whose the caller */
  standing(table: FollowedTable, whose: { readonly systemId: string; readonly partnerId: string }): Promise<Standing>;
}

/** Creates the watch of a process. @param primary reads the primary, as a replica does not see running transactions */
export function createChangeWatch(primary: ReadPool): ChangeWatch {
  // A horizon holds for all systems, so concurrent requests share one statement.
  const horizonOf = (table: FollowedTable) => askTogether(() => findHorizon(primary, table));
  const horizons = {
    stations: horizonOf("stations"),
    bikes: horizonOf("bikes"),
    rides: horizonOf("rides"),
    reservations: horizonOf("reservations"),
  };
  return {
    async standing(table, { systemId, partnerId }) {
      // The order does not matter: both are read after the request arrived and before its rows are read.
      const [horizon, state] = await Promise.all([
        horizons[table](),
        findChangeState(primary, table, systemId, partnerId),
      ]);
      return {
        position: horizon.position,
        now: horizon.now,
        newest: state.newest,
        isUncertain: horizon.isUncertain || state.hasPrepared,
        // After a deletion without a trace (a reset), checkpoints of the list are no longer valid either.
        history: `${horizon.history}.${state.resets}`,
      };
    },
  };
}

const SWEEP_INTERVAL_MS = 10 * 60_000;
const BATCH_SIZE = 1000;
/** How long records of removed bikes are kept: as long as checkpoints of bikes are valid, and 2 h more, as clocks differ. */
const KEPT_MS = (REMOVED_BIKES_KEPT_DAYS * 24 + 2) * 3_600_000;

/** Deletes the records of bikes that were removed long ago. */
export function startRemovedBikesSweeper({
  db,
  clock,
  ...options
}: SweeperSurroundings & { readonly db: Database; readonly clock: () => number }): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: SWEEP_INTERVAL_MS,
    batchSize: BATCH_SIZE,
    sweep: async (systemId, limit) => {
      const swept = await deletePastRemovedBikes(db, systemId, new Date(clock() - KEPT_MS), limit);
      return { swept, isMore: swept === limit };
    },
  });
}
