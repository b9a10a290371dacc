import {
  afterResult,
  type AttemptOutcome,
  type EndpointHealth,
  type EndpointStatus,
  HEALTHY,
} from "../../../src/webhooks/rules/after-attempt.ts";
import { type Delivery, deliveryAfter, type DeliveryEvent, newDelivery } from "./delivery.ts";

/**
 * The smallest steps in the life of an endpoint and its deliveries. A crash is an attempt that ends with an unknown outcome.
 */
export type Step =
  | { readonly do: "pass"; readonly milliseconds: number }
  | { readonly do: "create" | "claim" | "release" | "redeliver"; readonly id: string }
  | { readonly do: "pause" }
  | { readonly do: "resume" }
  | { readonly do: "replay" }
  | ({ readonly do: "end"; readonly id: string } & Answer);

/** The outcome of an attempt, with the random number for its retry. */
export interface Answer {
  readonly outcome: AttemptOutcome;
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly chance: number;
}

/** The effect of a step. `refused`: the step was not possible. */
export type Effect = "done" | "refused" | `paused: ${string}` | `warned: ${number}`;

/** Most attempts under way to an active endpoint. */
export const IN_FLIGHT = 10;

/** One endpoint and its deliveries. It applies the rules of the service as the dispatcher does. */
export interface World {
  now: number;
  status: EndpointStatus;
  health: EndpointHealth;
  readonly deliveries: Map<string, Delivery>;
}

export function createWorld(now: number): World {
  return { now, status: "active", health: HEALTHY, deliveries: new Map() };
}

/** Takes one step. */
export function takeStep(world: World, step: Step): Effect {
  const effect = act(world, step);
  if (world.status === "paused") applyToAll(world, { type: "endpoint_paused" });
  return effect;
}

function act(world: World, step: Step): Effect {
  const { now, deliveries, status } = world;
  switch (step.do) {
    case "pass":
      world.now += step.milliseconds;
      return "done";
    case "create":
      deliveries.set(step.id, newDelivery(status === "paused", now));
      return "done";
    case "claim":
      return mayClaim(world) ? apply(world, step.id, { type: "claimed", now }) : "refused";
    case "release":
      return apply(world, step.id, { type: "released" });
    case "end":
      return end(world, step.id, step);
    case "pause":
      world.status = "paused";
      return "done";
    case "resume":
      return resume(world);
    case "redeliver":
      return status === "paused" ? "refused" : apply(world, step.id, { type: "redelivered", now });
    case "replay":
      if (status === "paused") return "refused";
      applyToAll(world, { type: "replayed", now });
      return "done";
  }
}

/** Tells whether another delivery may be claimed: none at a paused endpoint, one at a time at a probed one. */
function mayClaim({ status, deliveries }: World): boolean {
  const underWay = [...deliveries.values()].filter((delivery) => delivery.underWay).length;
  return underWay < { active: IN_FLIGHT, probing: 1, paused: 0 }[status];
}

function end(world: World, id: string, answer: Answer): Effect {
  const effect = apply(world, id, { type: "attempt_ended", failure: null, endedAt: world.now, ...answer });
  if (effect === "refused") return effect;
  const { outcome, status } = answer;
  const after = afterResult(world.health, world.status, { deliveryId: id, outcome, status, endedAt: world.now });
  world.health = after.health;
  world.status = after.status;
  if (after.pauseReason !== null) return `paused: ${after.pauseReason}`;
  return after.warning === null ? "done" : `warned: ${after.warning}`;
}

function resume(world: World): Effect {
  if (world.status !== "paused") return "refused";
  world.status = "probing";
  world.health = HEALTHY;
  const oldestHeld = [...world.deliveries].find(([, delivery]) => delivery.state === "held");
  return oldestHeld === undefined ? "done" : apply(world, oldestHeld[0], { type: "probe_chosen", now: world.now });
}

function apply({ deliveries }: World, id: string, event: DeliveryEvent): Effect {
  const before = deliveries.get(id);
  const after = before === undefined ? "conflict" : deliveryAfter(before, event);
  if (after === "conflict") return "refused";
  deliveries.set(id, after);
  return "done";
}

function applyToAll(world: World, event: DeliveryEvent): void {
  for (const id of world.deliveries.keys()) apply(world, id, event);
}
