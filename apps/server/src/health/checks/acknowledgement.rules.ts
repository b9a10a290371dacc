import type { CheckResult } from "./check.ts";

/** That somebody knows of what a check has found. */
export interface Acknowledgement {
  /** The check. */
  readonly name: string;
  /** The machine or the system that it looked at; empty: the deployment. */
  readonly of: string;
  readonly subject: string;
  /** The worst that is acknowledged. */
  readonly severity: "warning" | "failure";
  /** How many it counted then; null: it counts nothing. */
  readonly count: number | null;
  readonly at: Date;
  /** Null: until what was found is over, or gets worse. */
  readonly until: Date | null;
  /** When a process has found it last, to the hour. */
  readonly foundAt: Date;
}

/** By it a count is worse. Too low: what grows by itself is mailed again and again. Too high: nobody learns that it grows. */
const WORSE_FACTOR = 2;

/** Tells whether a result is worse than what was acknowledged: it is now a failure, or counts twice as many. */
function isWorse({ status, count }: CheckResult, acknowledged: Acknowledgement): boolean {
  if (acknowledged.severity === "warning" && status === "failure") return true;
  return acknowledged.count !== null && count !== undefined && count >= WORSE_FACTOR * acknowledged.count;
}

/** The acknowledgement of a result, whether or not it still covers it. */
function findAcknowledgement(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  { check, subject = "" }: CheckResult,
): Acknowledgement | undefined {
  return acknowledgements.find((each) => each.name === check && each.of === of && each.subject === subject);
}

/** Returns what covers a result: it is not over, and what was found is no worse than what was acknowledged. */
export function acknowledgementOf(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  result: CheckResult,
  now: number,
): Acknowledgement | undefined {
  const found = findAcknowledgement(acknowledgements, of, result);
  if (found === undefined || (found.until !== null && found.until.getTime() <= now)) return undefined;
  return isWorse(result, found) ? undefined : found;
}

/**
 * Returns the acknowledgement that a result has outgrown: it is deleted, so that what wavers between a warning and a failure
 * is mailed once.
 */
export function outgrownBy(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  result: CheckResult,
): Acknowledgement | undefined {
  const found = findAcknowledgement(acknowledgements, of, result);
  return found !== undefined && isWorse(result, found) ? found : undefined;
}
