import { type PeriodicWork, startPeriodic } from "../../storage/background/periodic.ts";
import type { WorkCondition } from "./conditions.ts";

/** Shorter queries the database more often; longer, and a worker that was killed is reported later. */
const CHECK_INTERVAL_MS = 15_000;

/**
 * Runs a check every 15 s.
 * @param condition gets the outcome of each check
 */
export function checkPeriodically(condition: WorkCondition, check: () => Promise<void>): PeriodicWork {
  const work = () => check().then(condition.succeeded, condition.failed);
  const { failed: onError, watch } = condition;
  return startPeriodic({ intervalMs: CHECK_INTERVAL_MS, work, onError, watch });
}
