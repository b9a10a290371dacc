import type { Ride } from "@bikeshare/contract";

export type RideStatus = Ride["status"];

/** What can be done to a ride. */
export type RideCommand = "start" | "end" | "cancel" | "correct";

/**
 * A ride's life: `started` → `completed` | `cancelled`, both final. For each state (or `none`: no such ride yet) and
 * command: the state that follows, `same` where the command was done before (when what it says is what is stored),
 * `conflict` where it cannot be.
 */
export const rideTransitions = {
  none: { start: "started", end: "missing", cancel: "missing", correct: "missing" },
  started: { start: "same", end: "completed", cancel: "cancelled", correct: "conflict" },
  completed: { start: "same", end: "same", cancel: "conflict", correct: "completed" },
  cancelled: { start: "same", end: "conflict", cancel: "same", correct: "conflict" },
} as const satisfies Record<RideStatus | "none", Record<RideCommand, RideStatus | "same" | "conflict" | "missing">>;

/** Seconds from which a ride counts: MDS takes shorter ones for a bike that was tried and put back. */
const COUNTABLE_FROM = 60;

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

/**
 * What is wrong with a ride's start and end, in words; undefined when nothing is. All in milliseconds since 1970.
 * @param endField what the end is called where it came from
 */
export function rideTimesFault(startedAt: number, endedAt: number, now: number, endField: string): string | undefined {
  if (isInFuture(endedAt, now)) return `${endField} lies in the future.`;
  if (startedAt < EARLIEST_START) return "started_at lies before 1970.";
  if (endedAt < startedAt) return `${endField} lies before the ride's start, ${new Date(startedAt).toISOString()}.`;
  if ((endedAt - startedAt) / 1000 > LONGEST_RIDE)
    return `${endField} lies more than ${LONGEST_RIDE} s after the start.`;
  return undefined;
}

/** What follows from a ride's start and end. */
export function rideLength(
  startedAt: number,
  endedAt: number,
): { readonly duration_seconds: number; readonly is_countable: boolean } {
  const seconds = Math.round((endedAt - startedAt) / 1000);
  return { duration_seconds: seconds, is_countable: seconds >= COUNTABLE_FROM };
}
