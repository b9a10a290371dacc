import type { CommandContext } from "../../command-context.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import { runCommand } from "./command.ts";
import { listUnloggedBikes } from "./vehicle-log-queries.ts";

/*
 * Begins the vehicle logs: the events of each of the operator's bikes, which agencies read by MDS. Events of a system are
 * logged once it has an agency.
 */

/**
 * Bikes whose logs begin in one transaction. Too low: makes more transactions. Too high: locks their stations' rows for
 * longer.
 */
const BATCH_SIZE = 500;

/**
 * Begins the log of every bike of the operator that has none, with the events that lead to its state. From then on every
 * command that changes a bike logs its events.
 * @returns how many logs began; none where the system's events are not logged
 */
export async function beginVehicleLogs(context: CommandContext, systemId: string): Promise<number> {
  let begun = 0;
  for (;;) {
    const more = await beginSome(context, systemId, BATCH_SIZE);
    begun += more;
    if (more < BATCH_SIZE) return begun;
  }
}

/** Begins the logs of up to `limit` bikes, in one transaction. @returns how many */
async function beginSome(context: CommandContext, systemId: string, limit: number): Promise<number> {
  const ids = await listUnloggedBikes(context.db, systemId, limit);
  if (ids.length > 0) {
    await runCommand(context, systemId, async (command) => {
      await command.lockBikes(ids);
      for (const bike of command.bikes.values()) command.beginLog(bike);
    });
  }
  return ids.length;
}

/** Time between two searches for bikes without a log. Each search reads all bikes of the systems whose events are logged. */
const INTERVAL_MS = 60_000;

/** Begins the logs of bikes that `beginVehicleLogs` missed, because they were created while it ran for their system. */
export function startVehicleLogSweeper({
  db,
  clock,
  ids,
  ...options
}: SweeperSurroundings & CommandContext): PeriodicWork<number> {
  return startSweeper({
    ...options,
    intervalMs: INTERVAL_MS,
    batchSize: BATCH_SIZE,
    sweep: async (systemId, limit) => {
      const swept = await beginSome({ db, clock, ids }, systemId, limit);
      return { swept, isMore: swept === limit };
    },
  });
}
