import type { Database } from "../../storage/db/database.ts";
import { systemsOf } from "../systems/service.ts";
import { createDayIndex, type DayIndex } from "./day-index.ts";
import { listChangedDays } from "./day-queries.ts";
import { createDepthIndex, type DepthIndex } from "./depth-index.ts";
import { createPastCounts, type PastCounts } from "./past-counts.ts";
import { countRidesByHour } from "./queries.ts";

/** What a process remembers of past rides, so that pages at any depth and of any filter are found without counting them. */
export interface RideMemory {
  readonly depths: DepthIndex;
  readonly pastCounts: PastCounts;
  readonly days: DayIndex;
}

export function createRideMemory(db: Database, clock: () => number): RideMemory {
  return {
    depths: createDepthIndex({ read: (systemId) => countRidesByHour(db, systemId), clock }),
    pastCounts: createPastCounts(clock),
    days: createDayIndex({ read: (systemId, known) => listChangedDays(db, systemId, known), clock }),
  };
}

/**
 * Learns the days of every system: of a large one that takes seconds, for which the first filtered list would wait. Where it
 * fails, whoever asks for a list tries again.
 */
export async function learnRideDays(db: Database, { days }: RideMemory): Promise<void> {
  const systems = await systemsOf(db).catch(() => []);
  for (const { system_id: systemId } of systems) await days.known(systemId, true);
}
