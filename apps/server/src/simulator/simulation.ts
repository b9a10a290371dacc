import { setTimeout } from "node:timers/promises";
import { createAgenda } from "./agenda.ts";
import type { City, CityStation } from "./city.ts";
import type { SeenCity } from "./city-reader.ts";
import type { OnAnswer } from "./commands.ts";
import { createFigures, type Figures } from "./figures.ts";
import { createCityLife } from "./life.ts";
import type { PostBatch } from "./operator-client.ts";
import { createSender } from "./sender.ts";
import { settleIn } from "./settle-in.ts";

export interface SimulationOptions {
  readonly city: City;
  readonly seed: number;
  /** How many times faster than life: 60 is an hour a minute. */
  readonly speed: number;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly post: PostBatch;
  /** A new text each time, for `Idempotency-Key`. */
  readonly newKey: () => string;
  /** How the city stands at present; undefined: it is made anew, in the places that it begins with. */
  readonly seen: SeenCity | undefined;
  /** Hears about every command that the service has answered. */
  readonly onAnswer?: OnAnswer;
}

/** A city that lives until it is stopped. */
export interface Simulation {
  figures(): Figures;
  /** Settles when the simulation cannot go on, with the reason. */
  readonly failed: Promise<Error>;
  /** Ends what is under way, waits until all is acknowledged (10 s at most), and sends nothing more. */
  stop(): Promise<void>;
  /** Where the operator believes its bikes to stand, ready to be ridden. */
  standing(): ReadonlyMap<string, CityStation>;
}

/** Milliseconds between two looks at the plan. Longer makes fewer, larger requests, and rides that start late. */
const TICK = 250;
/** Unacknowledged commands at which the city waits for the service, so that an outage fills no memory. */
const MOST_WAITING = 20_000;
/** Simulated milliseconds of a day at which life begins: just before the morning's rush. */
const BEGINNING = 6.5 * 3_600_000;
const MINUTE = 60_000;
/** Milliseconds granted to making the city, and to the last words. */
const SETTLING = 120_000;
const STOPPING = 10_000;

/** Makes the city where it is missing, then lets it live against a service. */
export async function startSimulation(options: SimulationOptions): Promise<Simulation> {
  const { city, seed, speed, clock, seen } = options;
  const figures = createFigures(clock());
  const agenda = createAgenda();
  let moment = BEGINNING;
  let instant = clock();
  const instantOf = (at: number) => Math.round(instant - (moment - at) / speed);
  const failure = withResolver<Error>();
  const sender = createSender({
    ...options,
    onAnswer: (command, result) => {
      life.answered(command, result);
      figures.answered(command, result);
      options.onAnswer?.(command, result);
    },
    onRequest: (outcome, reason) => {
      figures.requested(outcome, reason);
      if (outcome === "refused") failure.resolve(new Error(`The service refuses what it is told: ${reason}`));
    },
  });
  const tell = sender.tell;
  const life = createCityLife({ city, seed, run: instant.toString(36), agenda, instantOf, tell });
  const flush = async () => {
    const all = await Promise.race([sender.flush(SETTLING), failure.promise]);
    if (all instanceof Error) throw all;
    if (!all) throw new Error(`The city could not be made within ${SETTLING / 1000} s.`);
  };
  try {
    await settleIn({ city, seed, life, moment, tell, flush }, seen);
  } catch (error) {
    await sender.close();
    throw error;
  }

  let planned = Math.floor(BEGINNING / MINUTE);
  const tick = () => {
    const elapsed = clock() - instant;
    instant += elapsed;
    if (sender.waiting() > MOST_WAITING) return;
    moment += elapsed * speed;
    while (planned * MINUTE <= moment) life.plan(planned++);
    agenda.runUntil(moment);
  };
  // The time that the city took to make is not lived.
  instant = clock();
  const stopping = new AbortController();
  const living = runEvery(TICK, tick, stopping.signal);
  return {
    figures: () => figures.read(life.riding(), sender.waiting(), clock()),
    failed: failure.promise,
    standing: () => life.standing(),
    async stop() {
      stopping.abort();
      await living;
      instant = clock();
      life.settle(moment);
      await sender.flush(STOPPING);
      await sender.close();
    },
  };
}

async function runEvery(milliseconds: number, work: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    work();
    await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
  }
}

function withResolver<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { promise, resolve };
}
