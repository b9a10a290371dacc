import { MAX_SANDBOX_RIDES } from "@bikeshare/contract";
import { lengthOf } from "../city/counts/service.ts";
import { SANDBOX_AWAKE_MS } from "../city/systems/service.ts";
import type { CommandContext } from "../command-context.ts";
import { type PeriodicWork, startPeriodic } from "../storage/background/periodic.ts";
import type { WorkWatch } from "../storage/background/work-watch.ts";
import { CityActs } from "./acts.ts";
import { claimSandboxesToRide, listRidesUnderWay } from "./queries.ts";
import { RIDE_INTERVAL_MS } from "./service.ts";

/** Between two looks for sandboxes in which a ride is due: one statement for all of them. */
const LOOK_INTERVAL_MS = 5_000;
/** How long rides last. */
const DURATION = { leastMs: 3 * 60_000, mostMs: 11 * 60_000 };

interface RidingOptions extends CommandContext {
  readonly onError: (error: unknown, systemId?: string) => void;
  readonly watch?: WorkWatch | undefined;
}

/** Starts a ride each minute in each sandbox in use, and ends those that are over. Any number of processes may do so. */
export function startSandboxRides({ onError, watch, ...context }: RidingOptions): PeriodicWork {
  return startPeriodic({
    ...{ intervalMs: LOOK_INTERVAL_MS, onError, watch },
    async work() {
      const now = context.clock();
      const due = await claimSandboxesToRide(context.db, {
        ...{ now: new Date(now), usedSince: new Date(now - SANDBOX_AWAKE_MS), intervalMs: RIDE_INTERVAL_MS },
      });
      for (const systemId of due) {
        await rideOnce(context, systemId).catch((error: unknown) => onError(error, systemId));
        watch?.gotOn();
      }
    },
  });
}

/** Ends the rides of a sandbox that are over, and starts one. */
export async function rideOnce(context: CommandContext, systemId: string): Promise<void> {
  const acts = new CityActs(context, { systemId, partnerId: "" });
  const now = context.clock();
  for (const { id, started_at: startedAt } of await listRidesUnderWay(context.db, systemId)) {
    const end = startedAt.getTime() + durationOf(id);
    if (end <= now) await acts.endRide(id, undefined, { ended_at: new Date(end).toISOString() });
  }
  if ((await lengthOf(context.db, systemId, "rides")) < MAX_SANDBOX_RIDES) await acts.startRide(undefined);
}

/** Returns how long a ride lasts: it follows from the ride's id, so that nothing must be kept of it. */
function durationOf(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at++) sum = (sum * 31 + id.charCodeAt(at)) % 65_521;
  return DURATION.leastMs + Math.round((sum / 65_521) * (DURATION.mostMs - DURATION.leastMs));
}
