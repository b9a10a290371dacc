import type { Ride } from "@bikeshare/contract";

export type RideStatus = Ride["status"];

/** What can be done to a ride. */
export type RideCommand = "start" | "end" | "cancel";

/**
 * A ride's life: `started` → `completed` | `cancelled`, both final. For each state (or `none`: no such ride yet) and
 * command: the state that follows, `same` where the command finds done what it asks for, `conflict` where it cannot be.
 */
export const rideTransitions = {
  none: { start: "started", end: "missing", cancel: "missing" },
  started: { start: "same", end: "completed", cancel: "cancelled" },
  completed: { start: "same", end: "same", cancel: "conflict" },
  cancelled: { start: "same", end: "conflict", cancel: "same" },
} as const satisfies Record<RideStatus | "none", Record<RideCommand, RideStatus | "same" | "conflict" | "missing">>;

/** Seconds from which a ride counts: MDS takes shorter ones for a bike that was tried and put back. */
export const COUNTABLE_FROM = 60;

/**
 * Milliseconds by which an instant may lie ahead of our clock: what clocks of well-kept machines differ by. More and a
 * wrong clock goes unnoticed; less and honest reports are refused.
 */
export const CLOCK_TOLERANCE = 60_000;

/** Whether an instant lies in the future, beyond what clocks differ by. All in milliseconds since 1970. */
export function isInFuture(instant: number, now: number): boolean {
  return instant > now + CLOCK_TOLERANCE;
}

/** What follows from a ride's start and end. */
export function rideLength(startedAt: number, endedAt: number): { readonly duration_seconds: number; readonly is_countable: boolean } {
  const seconds = Math.round((endedAt - startedAt) / 1000);
  return { duration_seconds: seconds, is_countable: seconds >= COUNTABLE_FROM };
}
