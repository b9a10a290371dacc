import { type Delivery, isDue } from "./delivery.ts";
import { createModel, type ExpectedDelivery, foretell, type Model } from "./model.ts";
import { type Answer, createWorld, type Effect, IN_FLIGHT, type Step, takeStep, type World } from "./world.ts";

const START = Date.parse("2026-06-01T12:00:00.000Z");
const WELL: Answer = { outcome: "succeeded", status: 200, retryAfterMs: null, chance: 0 };

/** A world and its model. Each step is taken in both, and then both must be in the same state. */
export interface Pair {
  readonly world: World;
  readonly model: Model;
  /** How often each event occurred over all runs, to show that rare ones were tested. */
  readonly seen: Map<string, number>;
}

/** Returns a pair with an active endpoint without deliveries. */
export function createPair(seen: Map<string, number>): Pair {
  return { world: createWorld(START), model: createModel(START), seen };
}

function hold(truth: boolean, what: string, pair: Pair): void {
  if (!truth) throw new Error(`${what}\n${JSON.stringify([...pair.world.deliveries])}\n${JSON.stringify(pair.model)}`);
}

/** Takes a step in both. @throws Error if the world differs from the model's prediction, or violates an invariant */
export function take(pair: Pair, step: Step): Effect {
  const { world, model, seen } = pair;
  const before = step.do === "end" ? world.deliveries.get(step.id) : undefined;
  const known = new Set(world.deliveries.keys());
  const effect = takeStep(world, step);
  const foretold = foretell(model, step);
  hold(effect === foretold, `${JSON.stringify(step)}: ${effect}, not ${foretold}`, pair);
  for (const label of [effect, step.do, `${step.do} at ${world.status}`]) seen.set(label, (seen.get(label) ?? 0) + 1);
  hold(known.isSubsetOf(new Set(world.deliveries.keys())), "a delivery is lost", pair);
  if (before !== undefined && step.do === "end") {
    const number = world.deliveries.get(step.id)?.attempts ?? Number.NaN;
    hold(number === before.attempts + (before.underWay ? 1 : 0), "attempts are not numbered on", pair);
  }
  compare(pair);
  return effect;
}

const PHASES = { succeeded: "delivered", failed: "given up", held: "held" } as const;

function compare(pair: Pair): void {
  const { world, model } = pair;
  hold(world.status === model.mode, `the endpoint is ${world.status}, not ${model.mode}`, pair);
  hold(world.deliveries.size === model.deliveries.size, "the number of deliveries differs", pair);
  for (const [id, delivery] of world.deliveries) {
    const wanted = model.deliveries.get(id);
    hold(wanted !== undefined && isAsWanted(delivery, wanted), `${id} is not as foretold`, pair);
    hold(delivery.tries <= 14, `${id} was tried more than 14 times`, pair);
    hold((delivery.state === "pending") === (delivery.dueAt !== null), `${id} is neither at rest nor due`, pair);
    const waitsAtPause = world.status === "paused" && delivery.state === "pending" && !delivery.underWay;
    hold(!waitsAtPause, `${id} waits at a paused endpoint`, pair);
  }
}

function isAsWanted(delivery: Delivery, wanted: ExpectedDelivery): boolean {
  const waiting = delivery.underWay ? "under way" : "waiting";
  const phase = delivery.state === "pending" ? waiting : PHASES[delivery.state];
  return (
    phase === wanted.phase &&
    delivery.attempts === wanted.attempts &&
    (phase === "held" || delivery.tries === wanted.tries) &&
    isWithin(delivery.dueAt, wanted.due)
  );
}

function isWithin(dueAt: number | null, due: ExpectedDelivery["due"]): boolean {
  return dueAt === null || due === null ? dueAt === due : dueAt >= due[0] && dueAt <= due[1];
}

/** Claims due deliveries up to the limit, as a dispatcher does. Claims of others must be refused. */
export function claimDue(pair: Pair): void {
  const { world, model } = pair;
  for (const [id, delivery] of world.deliveries) {
    const under = underWay(pair).length;
    if (world.status === "paused" || under >= (world.status === "probing" ? 1 : IN_FLIGHT)) return;
    if (!isDue(delivery, world.now)) continue;
    const earliest = model.deliveries.get(id)?.due?.[0] ?? Number.POSITIVE_INFINITY;
    hold(world.now >= earliest, `${id} is sent early`, pair);
    hold(take(pair, { do: "claim", id }) === "done", `${id} is due and cannot be claimed`, pair);
    if (world.status === "probing") hold(underWay(pair).length === 1, "there is more than one probe", pair);
  }
}

/** Returns the ids of the deliveries under way. */
export function underWay({ world }: Pair): string[] {
  return [...world.deliveries].filter(([, delivery]) => delivery.underWay).map(([id]) => id);
}

/**
 * Returns the ids of deliveries that certainly must not be sent now. Deliveries that may be due, depending on chance, are
 * left out.
 */
export function notDue({ model }: Pair): string[] {
  const must = ({ phase, due }: ExpectedDelivery) => phase !== "waiting" || due === null || model.now < due[0];
  return [...model.deliveries].filter(([, delivery]) => must(delivery)).map(([id]) => id);
}

/** Advances the time until the next delivery is due. */
export function passToNextDue(pair: Pair): void {
  const dues = [...pair.world.deliveries.values()].filter((delivery) => !delivery.underWay).map(({ dueAt }) => dueAt);
  const next = Math.min(...dues.filter((due) => due !== null));
  if (Number.isFinite(next)) take(pair, { do: "pass", milliseconds: Math.max(0, next - pair.world.now) });
}

/** Sends everything, `repeats` times, to a receiver that cycles through `answers`. */
export function besiege(pair: Pair, repeats: number, answers: readonly Answer[]): void {
  for (let round = 0; round < repeats; round += 1) {
    passToNextDue(pair);
    claimDue(pair);
    endAll(pair, answers);
  }
}

/** Ends all attempts under way, with one of the answers after the other. */
export function endAll(pair: Pair, answers: readonly Answer[]): void {
  for (const [index, id] of underWay(pair).entries()) {
    const answer = answers[index % answers.length];
    if (answer !== undefined) take(pair, { do: "end", id, ...answer });
  }
}

/** Expects that a receiver that works again gets everything, whatever happened before. */
export function recover(pair: Pair): void {
  const { world } = pair;
  endAll(pair, [WELL]);
  take(pair, { do: "resume" });
  if (world.status === "paused") throw new Error("a paused endpoint cannot be resumed");
  take(pair, { do: "replay" });
  besiege(pair, 3 + world.deliveries.size, [WELL]);
  hold(
    [...world.deliveries.values()].every(({ state }) => state === "succeeded"),
    "something never arrives",
    pair,
  );
  hold(world.status === (world.deliveries.size > 0 ? "active" : world.status), "a success does not activate", pair);
}
