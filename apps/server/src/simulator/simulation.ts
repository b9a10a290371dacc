import { setTimeout } from "node:timers/promises";
import { type Agenda, createAgenda } from "./agenda.ts";
import type { SeenCity } from "./city-reader.ts";
import type { City, CityStation } from "./city.ts";
import type { Command, OnAnswer } from "./commands.ts";
import { createFigures, type Figures } from "./figures.ts";
import { type CityLife, createCityLife } from "./life.ts";
import type { PostBatch } from "./operator-client.ts";
import { createSender, type Sender } from "./sender.ts";
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
  const { city, seed, clock, seen } = options;
  const figures = createFigures(clock());
  const failure = Promise.withResolvers<Error>();
  const time = createCityTime(options);
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
  const tell = (command: Command) => sender.tell(command);
  const { agenda, instantOf } = time;
  const life = createCityLife({ city, seed, run: clock().toString(36), agenda, instantOf, tell });
  try {
    const flush = () => mustFlush(sender, failure.promise);
    await settleIn({ city, seed, life, moment: time.moment(), tell, flush }, seen);
  } catch (error) {
    await sender.close();
    throw error;
  }
  // The time that the city took to make is not lived.
  time.skip();
  const stopping = new AbortController();
  const living = runEvery(
    TICK,
    () => (sender.waiting() > MOST_WAITING ? time.skip() : time.goOn(life)),
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
      life.settle(time.moment());
      await sender.flush(STOPPING);
      await sender.close();
    },
  };
}

async function mustFlush(sender: Sender, failed: Promise<Error>): Promise<void> {
  const all = await Promise.race([sender.flush(SETTLING), failed]);
  if (all instanceof Error) throw all;
  if (!all) throw new Error(`The city could not be made within ${SETTLING / 1000} s.`);
}

/** Simulated time, and how it hangs together with the wall clock's. */
interface CityTime {
  readonly agenda: Agenda;
  moment(): number;
  /** The wall clock, in milliseconds since 1970, at a moment. */
  readonly instantOf: (moment: number) => number;
  /** The city lives as long as the wall clock went on since the last time. */
  goOn(life: CityLife): void;
  /** The wall clock goes on, the city does not. */
  skip(): void;
}

function createCityTime({ clock, speed }: Pick<SimulationOptions, "clock" | "speed">): CityTime {
  const agenda = createAgenda();
  let moment = BEGINNING;
  let instant = clock();
  let planned = Math.floor(BEGINNING / MINUTE);
  return {
    agenda,
    moment: () => moment,
    instantOf: (at) => Math.round(instant - (moment - at) / speed),
    goOn(life) {
      const elapsed = clock() - instant;
      instant += elapsed;
      moment += elapsed * speed;
      while (planned * MINUTE <= moment) life.plan(planned++);
      agenda.runUntil(moment);
    },
    skip: () => void (instant = clock()),
  };
}

async function runEvery(milliseconds: number, work: () => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    work();
    await setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);
  }
}
