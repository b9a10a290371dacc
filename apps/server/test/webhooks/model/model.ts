import type { Answer, Effect, Step } from "./world.ts";

const HOUR = 3_600_000;
/** The delays before each of the 14 attempts of a delivery, in milliseconds. */
const SCHEDULE = "0s 5s 30s 2m 10m 30m 1h 2h 4h 8h 12h 12h 16h 17h"
  .split(" ")
  .map((text) => Number.parseInt(text, 10) * ({ s: 1_000, m: 60_000, h: HOUR }[text.slice(-1)] ?? Number.NaN));

/** The expected state of a delivery. */
export interface ExpectedDelivery {
  phase: "waiting" | "under way" | "delivered" | "given up" | "held";
  /** The instants between which the next attempt becomes due. */
  due: readonly [earliest: number, latest: number] | null;
  attempts: number;
  tries: number;
  /** The number of consecutive attempts whose process ended. */
  crashes: number;
}

interface Heard extends Pick<Answer, "outcome" | "status"> {
  readonly id: string;
  readonly at: number;
}

/**
 * A second implementation of the rules, to compare with the service's. It derives everything from the list of past responses
 * instead of counters, and uses none of the service's code.
 */
export interface Model {
  now: number;
  mode: "active" | "probing" | "paused";
  readonly deliveries: Map<string, ExpectedDelivery>;
  /**
   * All responses of the receiver since the endpoint was created or resumed, except those that arrived while it was paused.
   */
  heard: Heard[];
  /** The warnings that were given in the present period of failures. */
  given: number[];
}

export function createModel(now: number): Model {
  return { now, mode: "active", deliveries: new Map(), heard: [], given: [] };
}

/** Applies a step to the model. @returns the effect that the step must have */
export function foretell(model: Model, step: Step): Effect {
  const effect = foretellStep(model, step);
  if (model.mode === "paused") {
    for (const delivery of inPhase(model, "waiting")) rest(delivery, "held");
  }
  return effect;
}

function foretellStep(model: Model, step: Step): Effect {
  if (step.do === "pass") model.now += step.milliseconds;
  else if (step.do === "pause") model.mode = "paused";
  else if (step.do === "resume") return foretellResume(model);
  else if (step.do === "replay") return foretellReplay(model, [...model.deliveries.values()]);
  else if (step.do === "create") create(model, step.id);
  else return foretellDelivery(model, step);
  return "done";
}

function create(model: Model, id: string): void {
  const delivery: ExpectedDelivery = { phase: "held", due: null, attempts: 0, tries: 0, crashes: 0 };
  if (model.mode !== "paused") begin(delivery, model.now);
  model.deliveries.set(id, delivery);
}

function foretellDelivery(model: Model, step: Exclude<Step, { do: "pass" | "pause" | "resume" | "replay" }>): Effect {
  const delivery = model.deliveries.get(step.id);
  if (delivery === undefined) return "refused";
  if (step.do === "redeliver") return foretellReplay(model, [delivery]);
  if (step.do === "claim") {
    // Within the window of `due`, only the service knows whether the delivery is due. The test claims only due ones.
    if (delivery.phase !== "waiting" || model.now < (delivery.due?.[0] ?? Number.NaN)) return "refused";
    if (inPhase(model, "under way").length >= { active: 10, probing: 1, paused: 0 }[model.mode]) return "refused";
    delivery.phase = "under way";
    return "done";
  }
  if (delivery.phase !== "under way") return "refused";
  if (step.do === "end") return foretellEnd(model, delivery, step);
  delivery.phase = "waiting";
  return "done";
}

function foretellEnd(model: Model, delivery: ExpectedDelivery, step: Answer & { readonly id: string }): Effect {
  delivery.attempts += 1;
  delivery.tries += 1;
  delivery.crashes = step.outcome === "unknown" ? delivery.crashes + 1 : 0;
  if (step.outcome === "succeeded") rest(delivery, "delivered");
  else if (delivery.tries === 14 || delivery.crashes === 3) rest(delivery, "given up");
  else {
    delivery.phase = "waiting";
    delivery.due = window(model.now, SCHEDULE[delivery.tries] ?? Number.NaN, step);
  }
  if (model.mode === "paused" || step.outcome === "unknown") return "done";
  model.heard.push({ id: step.id, outcome: step.outcome, status: step.status, at: model.now });
  return judge(model);
}

function window(now: number, delay: number, { outcome, retryAfterMs }: Answer): [number, number] {
  if (outcome === "unknown") return [now, now];
  const wait = Math.max(delay, Math.min(retryAfterMs ?? 0, 6 * HOUR));
  return [now + wait, now + (wait * 11) / 10];
}

/** Returns the effect of all responses so far: a pause, a warning, or nothing. */
function judge(model: Model): Effect {
  const since = stretch(model.heard.slice(model.heard.findLastIndex(({ outcome }) => outcome === "succeeded") + 1));
  const [first, latest] = [since.at(0), since.at(-1)];
  if (first === undefined || latest === undefined) {
    model.mode = "active";
    model.given = [];
    return "done";
  }
  if (model.mode === "probing") return pause(model, "probe_failed");
  const answers = model.heard.filter(({ outcome }) => outcome !== "failed");
  const row = answers.slice(answers.findLastIndex(({ status }) => status !== 410) + 1);
  if (row.length >= 3 && (row.at(-1)?.at ?? 0) - (row.at(0)?.at ?? 0) >= 60_000) return pause(model, "gone");
  const hours = (latest.at - first.at) / HOUR;
  if (hours >= 72 && since.length >= 20 && different(since) >= 3) return pause(model, "failing");
  if (since.length === 1) model.given = [];
  const level = [50, 25].find((percent) => hours >= (72 * percent) / 100) ?? 0;
  if (level <= Math.max(0, ...model.given)) return "done";
  model.given.push(level);
  return `warned: ${level}`;
}

/** Returns the failures after the last gap of more than a day. */
function stretch(failed: readonly Heard[]): readonly Heard[] {
  const begun = failed.findLastIndex(({ at }, index) => at - (failed[index - 1]?.at ?? at) > 24 * HOUR);
  return failed.slice(Math.max(0, begun));
}

function pause(model: Model, reason: string): Effect {
  model.mode = "paused";
  return `paused: ${reason}`;
}

function different(heard: readonly Heard[]): number {
  return new Set(heard.map(({ id }) => id)).size;
}

function foretellResume(model: Model): Effect {
  if (model.mode !== "paused") return "refused";
  Object.assign(model, { mode: "probing", heard: [], given: [] } satisfies Partial<Model>);
  const [probe] = inPhase(model, "held");
  if (probe !== undefined) begin(probe, model.now);
  return "done";
}

function foretellReplay(model: Model, chosen: readonly ExpectedDelivery[]): Effect {
  if (model.mode === "paused") return "refused";
  for (const delivery of chosen) {
    if (delivery.phase !== "waiting" && delivery.phase !== "under way") begin(delivery, model.now);
  }
  return "done";
}

function begin(delivery: ExpectedDelivery, now: number): void {
  Object.assign(delivery, {
    phase: "waiting",
    due: [now, now],
    tries: 0,
    crashes: 0,
  } satisfies Partial<ExpectedDelivery>);
}

function rest(delivery: ExpectedDelivery, phase: "delivered" | "given up" | "held"): void {
  Object.assign(delivery, { phase, due: null } satisfies Partial<ExpectedDelivery>);
}

function inPhase(model: Model, phase: ExpectedDelivery["phase"]): ExpectedDelivery[] {
  return [...model.deliveries.values()].filter((delivery) => delivery.phase === phase);
}
