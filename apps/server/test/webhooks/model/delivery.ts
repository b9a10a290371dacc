import { afterAttempt, type AttemptEnd, type DeliveryState } from "../../../src/webhooks/rules/after-attempt.ts";

/** The commands that change the state of a delivery. */
export type DeliveryCommand = "succeed" | "retry" | "give_up" | "hold" | "probe" | "redeliver" | "replay" | "drop";

/**
 * The state machine of a delivery. It begins as `pending`, or as `held` if its endpoint is paused when the event happens.
 * For each state and command: the next state, `same` if nothing changes, or `conflict` if the command is not possible.
 *
 * `succeed`, `retry` and `give_up`: the ends of an attempt. `hold`: the endpoint is paused; an attempt under way ends first,
 * so a held delivery never has one. `probe`: the endpoint is resumed, and this delivery tests it. `redeliver` (one delivery)
 * and `replay` (a range): on request, if the endpoint is not paused. A delivery that was not pending begins a new schedule
 * of attempts.
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

/** A delivery with the fields of its state machine. Times are in milliseconds since 1970. */
export interface Delivery {
  readonly state: DeliveryState;
  /** The number of all attempts, including those before a redelivery. */
  readonly attempts: number;
  /** The number of attempts in the present schedule. */
  readonly tries: number;
  /** The number of consecutive attempts whose process ended. */
  readonly crashes: number;
  /** When the delivery may be sent; null unless it is pending. */
  readonly dueAt: number | null;
  /** Whether the delivery is claimed, so that an attempt is being made. */
  readonly underWay: boolean;
}

/** An event in the life of a delivery. `endedAt` and `now` are in milliseconds since 1970. */
export type DeliveryEvent =
  | { readonly type: "claimed"; readonly now: number }
  /** Released unsent by a process that stops. */
  | { readonly type: "released" }
  | ({ readonly type: "attempt_ended" } & Omit<AttemptEnd, "tries" | "crashes">)
  | { readonly type: "endpoint_paused" | "dropped" }
  | { readonly type: "probe_chosen" | "redelivered" | "replayed"; readonly now: number };

/** Returns the delivery of an event that happens now. @param paused whether its endpoint is paused */
export function newDelivery(paused: boolean, now: number): Delivery {
  const fresh = { attempts: 0, tries: 0, crashes: 0, underWay: false };
  return paused ? { ...fresh, state: "held", dueAt: null } : { ...fresh, state: "pending", dueAt: now };
}

/**
 * Returns the delivery after an event; the same object if nothing changes.
 * @returns `conflict` if the event is impossible: the delivery was claimed too early or twice, or an attempt ended that was
 * not under way
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

/** Tells whether a delivery may be claimed. */
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

/** Applies a command. @param tries `tries` and `crashes` of the schedule that continues; undefined: a new one begins */
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
