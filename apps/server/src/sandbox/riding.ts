import { MAX_SANDBOX_RIDES } from "@bikeshare/contract";
import { lengthOf } from "../city/counts/service.ts";
import { SANDBOX_AWAKE_MS } from "../city/systems/service.ts";
import type { CommandContext } from "../command-context.ts";
import { type PeriodicWork, startPeriodic } from "../storage/background/periodic.ts";
import type { WorkWatch } from "../storage/background/work-watch.ts";
import { CityActs, ignoringRefusal } from "./acts.ts";
import { claimSandboxesToRide, listIdleSandboxes, listRidesUnderWay } from "./queries.ts";
import { endOfRide } from "./ride-times.rules.ts";
import { emptySandbox, resetSandbox, RIDE_INTERVAL_MS } from "./service.ts";

/** Milliseconds between two checks for sandboxes in which a ride is due. One statement checks all of them. */
const LOOK_INTERVAL_MS = 5_000;

/** The dependencies of the background work on sandboxes. */
interface RidingOptions extends CommandContext {
  readonly onError: (error: unknown, systemId?: string) => void;
  readonly watch?: WorkWatch | undefined;
}

/**
 * Starts a ride each minute in each sandbox in use, and ends rides that are due to end. Several processes may run this
 * at once: each claims sandboxes.
 */
export function startSandboxRides({ onError, watch, ...context }: RidingOptions): PeriodicWork {
  return startPeriodic({
    intervalMs: LOOK_INTERVAL_MS,
    onError,
    watch,
    async work() {
      const now = context.clock();
      const due = await claimSandboxesToRide(context.db, {
        now: new Date(now),
        usedSince: new Date(now - SANDBOX_AWAKE_MS),
        intervalMs: RIDE_INTERVAL_MS,
      });
      for (const { system_id: systemId, has_city: hasCity } of due) {
        // Without a city: the sandbox was emptied, and is used again.
        const done = hasCity ? rideOnce(context, systemId) : ignoringRefusal(resetSandbox(context, systemId));
        await done.catch((error: unknown) => onError(error, systemId));
        watch?.gotOn();
      }
    },
  });
}

/**
 * Ends the rides of a sandbox that are over, and starts one unless the sandbox is full. A rule of the city may refuse
 * an act, such as a start without a free bike: the act is then omitted.
 */
export async function rideOnce(context: CommandContext, systemId: string): Promise<void> {
  // No partner requests these acts. The partner matters only for reservations, so none is named.
  const acts = new CityActs(context, { systemId, partnerId: "" });
  const now = context.clock();
  for (const ride of await listRidesUnderWay(context.db, systemId)) {
    const end = endOfRide(ride);
    const details = { ended_at: new Date(end).toISOString() };
    if (end <= now) await ignoringRefusal(acts.endRide(ride.id, undefined, details));
  }
  if ((await lengthOf(context.db, systemId, "rides")) < MAX_SANDBOX_RIDES)
    await ignoringRefusal(acts.startRide(undefined));
}

/** Days after which an unused sandbox is emptied: its city is deleted. */
const IDLE_DAYS = 30;
const EMPTY_INTERVAL_MS = 3_600_000;
/** Sandboxes emptied in one run. Too high: a run takes long. */
const EMPTY_BATCH = 100;

/** Empties sandboxes that nobody has used for long, and those of removed partners. */
export function startEmptyingSandboxes({ onError, watch, ...context }: RidingOptions): PeriodicWork<number> {
  return startPeriodic({
    intervalMs: EMPTY_INTERVAL_MS,
    onError,
    watch,
    async work() {
      const usedBefore = new Date(context.clock() - IDLE_DAYS * 86_400_000);
      const idle = await listIdleSandboxes(context.db, usedBefore, EMPTY_BATCH);
      for (const systemId of idle) {
        await emptySandbox(context, systemId).catch((error: unknown) => onError(error, systemId));
        watch?.gotOn();
      }
      return idle.length;
    },
  });
}
