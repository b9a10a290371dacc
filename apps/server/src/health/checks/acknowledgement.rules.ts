import type { CheckResult } from "./check.ts";

/** Records that somebody knows of a check's finding. */
export interface Acknowledgement {
  /** The name of the check. */
  readonly name: string;
  /** The machine or the system that the check examined; empty: the deployment. */
  readonly of: string;
  readonly subject: string;
  /** The worst severity that is acknowledged. */
  readonly severity: "warning" | "failure";
  /** The check's count at the acknowledgement; null: the check counts nothing. */
  readonly count: number | null;
  readonly at: Date;
  /** Null: until the finding is resolved or gets worse. */
  readonly until: Date | null;
  /** When a process last found it, to the hour. */
  readonly foundAt: Date;
}

/**
 * The factor by which a count must grow to be worse. Too low: natural growth sends mails repeatedly. Too high: nobody
 * notices the growth.
 */
const WORSE_FACTOR = 2;

/** Tells whether a result is worse than its acknowledgement: it has become a failure, or counts twice as many. */
function isWorse({ status, count }: CheckResult, acknowledged: Acknowledgement): boolean {
  if (acknowledged.severity === "warning" && status === "failure") return true;
  return acknowledged.count !== null && count !== undefined && count >= WORSE_FACTOR * acknowledged.count;
}

/** Returns the acknowledgement of a result, whether or not it still covers the result. */
function findAcknowledgement(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  { check, subject = "" }: CheckResult,
): Acknowledgement | undefined {
  return acknowledgements.find((each) => each.name === check && each.of === of && each.subject === subject);
}

/** Returns the acknowledgement that covers a result: it has not expired, and the result is not worse. */
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
 * Returns the acknowledgement that a result has outgrown. It is deleted, so that a result which alternates between
 * warning and failure sends one mail.
 */
export function outgrownBy(
  acknowledgements: readonly Acknowledgement[],
  of: string,
  result: CheckResult,
): Acknowledgement | undefined {
  const found = findAcknowledgement(acknowledgements, of, result);
  return found !== undefined && isWorse(result, found) ? found : undefined;
}
