import { afterAttempt, type AttemptEnd, type DeliveryState } from "../../../src/webhooks/rules/after-attempt.ts";

/** What can happen to a delivery. */
export type DeliveryCommand = "succeed" | "retry" | "give_up" | "hold" | "probe" | "redeliver" | "replay" | "drop";

/**
 * A delivery's life. It begins `pending`, or `held` where its endpoint is paused when the event happens. For each state
 * and command: the state that follows, `same` where there is nothing left to do, `conflict` where it cannot be.
 *
 * `succeed`, `retry` and `give_up`: what an attempt ends with. `hold`: the endpoint is paused; what is under way ends
 * first, so that a held delivery never has an attempt under way. `probe`: the endpoint is resumed, and this delivery shows
 * whether it is well. `redeliver` (one) and `replay` (a range): on request, which needs an endpoint that is not paused.
 * Whatever was at rest begins a fresh schedule.
 */
export const deliveryTransitions = {
  pending: {
    succeed: "succeeded",
    retry: "pending",
    give_up: "failed",
    hold: "held",
    probe: "same",
    redeliver: "same",
    replay: "same",
    drop: "same",
  },
  succeeded: {
    succeed: "conflict",
    retry: "conflict",
    give_up: "conflict",
    hold: "same",
    probe: "conflict",
    redeliver: "pending",
    replay: "pending",
    drop: "same",
  },
  failed: {
    succeed: "conflict",
    retry: "conflict",
    give_up: "conflict",
    hold: "same",
    probe: "conflict",
    redeliver: "pending",
    replay: "pending",
    drop: "same",
  },
  held: {
    succeed: "conflict",
    retry: "conflict",
    give_up: "conflict",
    hold: "same",
    probe: "pending",
    redeliver: "pending",
    replay: "pending",
    drop: "failed",
  },
} as const satisfies Record<DeliveryState, Record<DeliveryCommand, DeliveryState | "same" | "conflict">>;

/** A delivery as far as its life goes. Instants in milliseconds since 1970. */
export interface Delivery {
  readonly state: DeliveryState;
  /** Attempts made in all: the number of the latest. It goes on over redeliveries. */
  readonly attempts: number;
  /** Attempts of this schedule. */
  readonly tries: number;
  /** Attempts in a row whose process ended. */
  readonly crashes: number;
  /** When it may be sent; null unless pending. */
  readonly dueAt: number | null;
  /** Claimed: an attempt is being made. */
  readonly underWay: boolean;
}

/** What happens to a delivery. `endedAt`, `now`: milliseconds since 1970. */
export type DeliveryEvent =
  | { readonly type: "claimed"; readonly now: number }
  /** Given back unsent, by a process that stops. */
  | { readonly type: "released" }
  | ({ readonly type: "attempt_ended" } & Omit<AttemptEnd, "tries" | "crashes">)
  | { readonly type: "endpoint_paused" | "dropped" }
  | { readonly type: "probe_chosen" | "redelivered" | "replayed"; readonly now: number };

/** A delivery of an event that happens now. @param paused whether its endpoint is */
export function newDelivery(paused: boolean, now: number): Delivery {
  const fresh = { attempts: 0, tries: 0, crashes: 0, underWay: false };
  return paused ? { ...fresh, state: "held", dueAt: null } : { ...fresh, state: "pending", dueAt: now };
}

/**
 * The delivery after an event; the same object where nothing changes.
 * @returns `conflict` where this cannot happen to it: it was claimed early or twice, or an attempt ended that was not under
 * way
 */
export function deliveryAfter(delivery: Delivery, event: DeliveryEvent): Delivery | "conflict" {
  switch (event.type) {
    case "claimed":
      return isDue(delivery, event.now) ? { ...delivery, underWay: true } : "conflict";
    case "released":
      return delivery.underWay ? { ...delivery, underWay: false } : "conflict";
    case "attempt_ended":
      return delivery.underWay ? attempted(delivery, event) : "conflict";
    case "endpoint_paused":
      return delivery.underWay ? delivery : move(delivery, "hold", null);
    case "dropped":
      return move(delivery, "drop", null);
    case "probe_chosen":
      return move(delivery, "probe", event.now);
    case "redelivered":
      return move(delivery, "redeliver", event.now);
    case "replayed":
      return move(delivery, "replay", event.now);
  }
}

/** Whether it may be claimed. */
export function isDue({ dueAt, underWay }: Delivery, now: number): boolean {
  return !underWay && dueAt !== null && dueAt <= now;
}

function attempted(delivery: Delivery, end: Omit<AttemptEnd, "tries" | "crashes">): Delivery | "conflict" {
  const [attempts, tries] = [delivery.attempts + 1, delivery.tries + 1];
  const crashes = end.outcome === "unknown" ? delivery.crashes + 1 : 0;
  const next = afterAttempt({ ...end, tries, crashes });
  const ended = { ...delivery, attempts, tries, underWay: false };
  if (next.state === "pending") return move(ended, "retry", next.nextAt, tries, crashes);
  return move(ended, next.state === "succeeded" ? "succeed" : "give_up", null, tries);
}

/** @param tries of the schedule that is gone on with, and `crashes`; left out, a fresh one begins */
function move(
  delivery: Delivery,
  command: DeliveryCommand,
  dueAt: number | null,
  tries = 0,
  crashes = 0,
): Delivery | "conflict" {
  const to = deliveryTransitions[delivery.state][command];
  if (to === "conflict") return "conflict";
  return to === "same" ? delivery : { ...delivery, state: to, dueAt, tries, crashes };
}
