import type { MessageArguments } from "@bikeshare/contract";

/**
 * Milliseconds by which an instant may lie ahead of our clock: what clocks of well-kept machines differ by. More and a
 * wrong clock goes unnoticed; less and honest reports are refused.
 */
const CLOCK_TOLERANCE = 60_000;

/** Whether an instant lies in the future, beyond what clocks differ by. All in milliseconds since 1970. */
export function isInFuture(instant: number, now: number): boolean {
  return instant > now + CLOCK_TOLERANCE;
}

/** The earliest instant at which a ride can have started: before it nobody wrote rides down, so the date is wrong. */
export const EARLIEST_START = Date.parse("1970-01-01T00:00:00.000Z");

/** Most seconds that a ride can have lasted: what the database's integers hold, 68 years. */
const LONGEST_RIDE = 2 ** 31 - 1;

/** Which message of `invalid_parameter` says what is wrong with a ride's times. */
export type RideTimesIssue = MessageArguments<"invalid_parameter">;

/**
 * What is wrong with a ride's start and end; undefined when nothing is. All in milliseconds since 1970.
 * @param endField what the end is called where it came from
 */
export function rideTimesIssue(
  startedAt: number,
  endedAt: number,
  now: number,
  endField: string,
): RideTimesIssue | undefined {
  if (isInFuture(endedAt, now)) return ["inFuture", { field: endField }];
  if (startedAt < EARLIEST_START) return ["startBefore1970"];
  if (endedAt < startedAt) return ["endBeforeStart", { field: endField, startedAt: new Date(startedAt).toISOString() }];
  if ((endedAt - startedAt) / 1000 > LONGEST_RIDE) return ["endTooLate", { field: endField, limit: LONGEST_RIDE }];
  return undefined;
}
