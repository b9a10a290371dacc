import type { CommandContext } from "../../command-context.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import { sweepUnits, type UnitWork } from "../../storage/set-aside/units.ts";
import { expireReservations, overdueReservations } from "./reservation-commands.ts";

/**
 * Time between two sweeps. Readers see a reservation expire at once; what waits for the sweep is its bike, the station's
 * counters and the event. Longer delays the event; shorter finds nothing most of the time.
 */
const INTERVAL_MS = 1_000;

/** Reservations in one transaction. More hold their stations' rows locked for longer; fewer make more transactions. */
const BATCH_SIZE = 200;

/** Writes overdue reservations as expired, once a second. */
export function startReservationSweeper({
  systems,
  onError,
  watch,
  ...context
}: CommandContext & SweeperSurroundings): PeriodicWork<number> {
  const work: UnitWork = {
    db: context.db,
    work: "expire-reservation",
    canCrash: true,
    list: (systemId, limit, apart) => overdueReservations(context, systemId, limit, apart),
    run: (systemId, ids) => expireReservations(context, systemId, ids),
    onError,
  };
  return startSweeper({
    intervalMs: INTERVAL_MS,
    batchSize: BATCH_SIZE,
    systems,
    sweep: (systemId, limit) => sweepUnits(work, systemId, limit),
    onError,
    watch,
  });
}
