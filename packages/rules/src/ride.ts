import { COUNTABLE_FROM_SECONDS } from "@bikeshare/contract/pure";

/** The commands on a ride. */
export type RideCommand = "start" | "end" | "cancel" | "correct";

export type RideStatus = "started" | "completed" | "cancelled";

/**
 * The transitions of a ride: `started` → `completed` | `cancelled`, both final. For each state (`none`: there is no such
 * ride) and command it has the next state, or: `same`, the command was carried out before, and is accepted again if it
 * agrees with the stored ride; `conflict`, it is impossible; `missing`, it needs a ride.
 */
export const rideTransitions = {
  none: { start: "started", end: "missing", cancel: "missing", correct: "missing" },
  started: { start: "same", end: "completed", cancel: "cancelled", correct: "conflict" },
  completed: { start: "same", end: "same", cancel: "conflict", correct: "completed" },
  cancelled: { start: "same", end: "conflict", cancel: "same", correct: "conflict" },
} as const satisfies Record<RideStatus | "none", Record<RideCommand, RideStatus | "same" | "conflict" | "missing">>;

/** Returns a ride's duration and whether it counts, from its start and end in milliseconds since 1970. */
export function rideLength(
  startedAt: number,
  endedAt: number,
): { readonly duration_seconds: number; readonly is_countable: boolean } {
  const seconds = Math.round((endedAt - startedAt) / 1000);
  return { duration_seconds: seconds, is_countable: seconds >= COUNTABLE_FROM_SECONDS };
}

/** Returns the reason of a ride's end when none was given. @param endStation null: it ended outside a station */
export function endReasonAt(endStation: string | null): "free_floating" | "returned" {
  return endStation === null ? "free_floating" : "returned";
}

/**
 * Returns a ride's `end_reason` after its end station was corrected. `returned` and `free_floating` say where the ride
 * ended, so they change with the station; other reasons stay.
 */
export function correctedEndReason<Reason extends string | null>(
  before: { readonly end_reason: Reason; readonly end_station_id: string | null },
  endStation: string | null,
): Reason | "free_floating" | "returned" {
  const saysWhere = before.end_reason === "returned" || before.end_reason === "free_floating";
  return saysWhere && endStation !== before.end_station_id ? endReasonAt(endStation) : before.end_reason;
}
