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
  /** How many times faster than the wall clock: 60 simulates an hour in a minute. */
  readonly speed: number;
  /** The time of day at which the simulation begins, in milliseconds. Default: just before the morning's rush hour. */
  readonly timeOfDayMs?: number | undefined;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly post: PostBatch;
  /** A new string each time, for `Idempotency-Key`. */
  readonly newKey: () => string;
  /** What the service has already; undefined: everything is created. */
  readonly observed: ObservedCity | undefined;
  /** Rides that were under way at the end of the generated history. They go on. Other rides in `observed` are ended. */
  readonly underWay?: readonly RideUnderWay[] | undefined;
  readonly onAnswer?: OnAnswer;
}

/** A running simulation. */
export interface Simulation {
  figures(): Figures;
  /** Resolves, with the reason, when the simulation cannot go on. */
  readonly failed: Promise<Error>;
  /** Ends rides and outages, waits up to `STOP_TIMEOUT_MS` until all is acknowledged, and then sends nothing more. */
  stop(): Promise<void>;
  /** Returns the station of each available bike, as the simulated operator believes. */
  standing(): ReadonlyMap<string, CityStation>;
}

/** Interval between two steps. Too low: makes many small requests. Too high: rides start late. */
const TICK_INTERVAL_MS = 250;
/** At so many unacknowledged commands the simulation pauses, so that an outage of the service does not fill the memory. */
const MAX_WAITING_COMMANDS = 20_000;
/** The time of day at which a simulation begins by default: just before the morning's rush hour. */
const MORNING_MS = 6.5 * 3_600_000;
const MINUTE_MS = 60_000;
const BOOTSTRAP_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 10_000;

/** Creates what the service does not have of the city, then simulates the city's life until `stop()`. */
export async function startSimulation(options: SimulationOptions): Promise<Simulation> {
  const { city, seed, clock, post, newKey, observed, underWay } = options;
  const figures = createFigures(clock());
  const failure = Promise.withResolvers<Error>();
  const time = createCityTime(options);
  const sender = createSender({
    post,
    newKey,
    onAnswer: (command, result) => {
      // `life` is set below, before the first command is sent.
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
  // The time that creating the city took is not simulated.
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

/** Waits until the service has acknowledged everything sent. @throws Error when it does not in time, or rejects something */
async function flushOrThrow(sender: Sender, failed: Promise<Error>): Promise<void> {
  const result = await Promise.race([sender.flush(BOOTSTRAP_TIMEOUT_MS), failed]);
  if (result instanceof Error) throw result;
  if (!result) throw new Error(`The city could not be created within ${BOOTSTRAP_TIMEOUT_MS / 1000} s.`);
}

/** Converts between simulated time and the wall clock. */
function createCityTime({ clock, speed, timeOfDayMs = MORNING_MS }: SimulationOptions) {
  const schedule = createSchedule();
  // The simulated time, and the instant of the wall clock that it stands for.
  let now = timeOfDayMs;
  let instant = clock();
  let nextMinute = Math.floor(timeOfDayMs / MINUTE_MS);
  return {
    schedule,
    /** The simulated time. */
    now: () => now,
    instantOf: (time: number) => Math.round(instant - (now - time) / speed),
    /** Simulates the time that has passed on the wall clock since the last call. */
    advance(life: CityLife) {
      const elapsed = clock() - instant;
      instant += elapsed;
      now += elapsed * speed;
      while (nextMinute * MINUTE_MS <= now) life.plan(nextMinute++);
      schedule.runUntil(now);
    },
    /** Skips the time that has passed on the wall clock since the last call: it is not simulated. */
    skip: () => void (instant = clock()),
  };
}

async function runEvery(intervalMs: number, work: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    work();
    await setTimeout(intervalMs, undefined, { signal }).catch(() => undefined);
  }
}
