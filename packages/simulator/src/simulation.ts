import { setTimeout } from "node:timers/promises";
import { createSchedule } from "./backend.ts";
import { bootstrapCity } from "./bootstrap.ts";
import { type CityLife, createCityLife } from "./city-life.ts";
import type { City, CityStation } from "./city.ts";
import { createFigures, type Figures } from "./figures.ts";
import type { RideUnderWay } from "./history.ts";
import type { Command, ObservedCity, OnAnswer, PostBatch } from "./operator-client.ts";
import { createSender, type Sender } from "./sender.ts";

interface SimulationOptions {
  readonly city: City;
  readonly seed: number;
  /** How many times faster than life: 60 is an hour a minute. */
  readonly speed: number;
  /** The time of day at which the city begins to live, in milliseconds; just before the morning's rush by default. */
  readonly timeOfDayMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly post: PostBatch;
  /** A new string each time, for `Idempotency-Key`. */
  readonly newKey: () => string;
  /** The city as it exists already; undefined: everything is created. */
  readonly observed: ObservedCity | undefined;
  /** The rides that the city was made with, which go on; others that are observed are ended. */
  readonly underWay?: readonly RideUnderWay[] | undefined;
  readonly onAnswer?: OnAnswer;
}

/** A city that lives until it is stopped. */
export interface Simulation {
  figures(): Figures;
  /** Resolves, with the reason, when the simulation cannot go on. */
  readonly failed: Promise<Error>;
  /** Ends rides and outages, waits until all is acknowledged (`STOP_TIMEOUT_MS` at most), and sends nothing more. */
  stop(): Promise<void>;
  /** Where the operator believes its available bikes to be. */
  standing(): ReadonlyMap<string, CityStation>;
}

/** Interval between two steps. Too low: makes many small requests. Too high: rides start late. */
const TICK_INTERVAL_MS = 250;
/** Unacknowledged commands at which the city waits for the service, so that an outage fills no memory. */
const MAX_WAITING_COMMANDS = 20_000;
/** The time of day at which a city begins to live by default: just before the morning's rush. */
const MORNING_MS = 6.5 * 3_600_000;
const MINUTE_MS = 60_000;
const BOOTSTRAP_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;

/** Creates the city where it is missing, then lets it live against a service. */
export async function startSimulation(options: SimulationOptions): Promise<Simulation> {
  const { city, seed, clock, observed, underWay } = options;
  const figures = createFigures(clock());
  const failure = Promise.withResolvers<Error>();
  const time = createCityTime(options);
  const sender = createSender({
    ...options,
    onAnswer: (command, result) => {
      life.onAnswer(command, result);
      figures.answered(command, result);
      options.onAnswer?.(command, result);
    },
    onRequest: (outcome, reason) => {
      figures.requested(outcome, reason);
      if (outcome === "rejected") failure.resolve(new Error(`The service rejects the simulator's request: ${reason}`));
    },
  });
  const send = (command: Command) => sender.send(command);
  const { schedule, instantOf } = time;
  const life = createCityLife({ city, seed, run: clock().toString(36), schedule, instantOf, send });
  try {
    const flush = () => flushOrThrow(sender, failure.promise);
    await bootstrapCity({ city, seed, life, time: time.now(), send, flush, underWay, clock }, observed);
  } catch (error) {
    await sender.close();
    throw error;
  }
  // The city does not live through the time that creating it took.
  time.skip();
  const stopping = new AbortController();
  const living = runEvery(
    TICK_INTERVAL_MS,
    () => (sender.waiting() > MAX_WAITING_COMMANDS ? time.skip() : time.advance(life)),
    stopping.signal,
  );
  return {
    figures: () => figures.read(life.riding(), sender.waiting(), clock()),
    failed: failure.promise,
    standing: () => life.standing(),
    async stop() {
      stopping.abort();
      await living;
      time.skip();
      life.finish(time.now());
      await sender.flush(STOP_TIMEOUT_MS);
      await sender.close();
    },
  };
}

async function flushOrThrow(sender: Sender, failed: Promise<Error>): Promise<void> {
  const result = await Promise.race([sender.flush(BOOTSTRAP_TIMEOUT_MS), failed]);
  if (result instanceof Error) throw result;
  if (!result) throw new Error(`The city could not be created within ${BOOTSTRAP_TIMEOUT_MS / 1000} s.`);
}

/** Simulated time, and how it relates to the wall clock. */
function createCityTime({ clock, speed, timeOfDayMs = MORNING_MS }: SimulationOptions) {
  const schedule = createSchedule();
  let now = timeOfDayMs;
  let instant = clock();
  let nextMinute = Math.floor(timeOfDayMs / MINUTE_MS);
  return {
    schedule,
    /** The simulated time. */
    now: () => now,
    instantOf: (time: number) => Math.round(instant - (now - time) / speed),
    /** The city lives through what has passed on the wall clock. */
    advance(life: CityLife) {
      const elapsed = clock() - instant;
      instant += elapsed;
      now += elapsed * speed;
      while (nextMinute * MINUTE_MS <= now) life.plan(nextMinute++);
      schedule.runUntil(now);
    },
    /** The wall clock goes on, the city does not. */
    skip: () => void (instant = clock()),
  };
}

async function runEvery(intervalMs: number, work: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    work();
    await setTimeout(intervalMs, undefined, { signal }).catch(() => undefined);
  }
}
