import { DEFAULT_RATE_LIMIT } from "@bikeshare/contract";
import { type CitySize, scenarios } from "@bikeshare/load";
import type { Replay } from "./replay/recorded-day.ts";

/**
 * A rate limit, in requests a minute, that no load reaches. Only the profile `citibike` and the scenario `limit-storm` use
 * keys with a lower one.
 */
export const UNLIMITED_RATE = 1_000_000;

/** A load, and the size of the service that it is made for. */
export interface Profile {
  readonly name: string;
  readonly description: string;
  /** The size of the city in a service that the load test starts itself. */
  readonly city: CitySize;
  readonly partners: number;
  /** Requests a minute of each partner's key. */
  readonly keyRateLimit: number;
  /** The number of partners that receive webhooks. */
  readonly subscribers: number;
  /** The time in which requests start, the warm-up included. */
  readonly durationMs: number;
  /**
   * The first milliseconds of the run, which are not measured, because a fresh process and a newly filled database are
   * slower.
   */
  readonly warmUpMs: number;
  readonly streams: readonly StreamSpec[];
  /** What the run must fulfil, such as `p99<1s`: `parseThreshold` reads them. */
  readonly thresholds: readonly string[];
  /** The recorded day to replay. Undefined: the rides are made up. */
  readonly replay?: Replay;
}

/** The requests of one scenario, and when they are sent. */
export interface StreamSpec {
  readonly name: string;
  readonly scenario: string;
  readonly ratePerSecond: number;
  /** `constant`: at equal intervals. `poisson`: at random intervals, as independent callers send them. */
  readonly arrivals: "constant" | "poisson";
}

/** The rides of an ordinary day of Citi Bike. The profile loads a service with ten times the busiest hour of such a day. */
const RIDES_PER_DAY = 82_000;
/** The share of an ordinary day's rides that fall into its busiest hour. */
const PEAK_HOUR_SHARE = 0.1;
const PEAK_FACTOR = 10;
const PARTNERS = 200;

/**
 * About 23 rides a second, each with a start and an end. Half of them are reported by single commands, half in batches of
 * 100.
 */
const RIDES_PER_SECOND = (RIDES_PER_DAY * PEAK_HOUR_SHARE * PEAK_FACTOR) / 3600;
const SINGLE_COMMANDS_PER_SECOND = 2 * (RIDES_PER_SECOND / 2);
const BATCHES_PER_SECOND = (2 * (RIDES_PER_SECOND / 2)) / 100;
/** One ride in five has a reservation. In this profile each reservation is created and then cancelled: two requests. */
const RESERVATION_REQUESTS_PER_SECOND = (RIDES_PER_SECOND / 5) * 2;

/** Returns the requests a second of all partners together, if each sends `perMinute` a minute. Their keys allow 60. */
function ofPartners(perMinute: number): number {
  return (PARTNERS * perMinute) / 60;
}

const citibike: Profile = {
  name: "citibike",
  description: "1,811 stations, 26,000 bikes and 200 partners at ten times the busiest hour of 82,000 rides a day",
  city: { stations: 1811, bikes: 26_000, rides: RIDES_PER_DAY },
  partners: PARTNERS,
  keyRateLimit: DEFAULT_RATE_LIMIT,
  subscribers: 5,
  durationMs: 70_000,
  warmUpMs: 10_000,
  streams: [
    { name: "rides", scenario: "ride-commands", ratePerSecond: SINGLE_COMMANDS_PER_SECOND, arrivals: "poisson" },
    { name: "batches", scenario: "operator-batches", ratePerSecond: BATCHES_PER_SECOND, arrivals: "constant" },
    {
      name: "reservations",
      scenario: "reservations",
      ratePerSecond: RESERVATION_REQUESTS_PER_SECOND,
      arrivals: "poisson",
    },
    // Each partner reads all ten pages of stations once a minute.
    { name: "stations", scenario: "station-polling", ratePerSecond: ofPartners(10), arrivals: "poisson" },
    { name: "walks", scenario: "cursor-walk", ratePerSecond: ofPartners(6), arrivals: "poisson" },
    { name: "jumps", scenario: "page-jumps", ratePerSecond: ofPartners(1), arrivals: "poisson" },
    { name: "mixed", scenario: "mixed-keys", ratePerSecond: ofPartners(3), arrivals: "poisson" },
    { name: "history", scenario: "history", ratePerSecond: ofPartners(1), arrivals: "poisson" },
    { name: "denied", scenario: "denied-access", ratePerSecond: 2, arrivals: "poisson" },
    { name: "storm", scenario: "limit-storm", ratePerSecond: 10, arrivals: "constant" },
  ],
  thresholds: ["p99<1s", "webhook-p99<5s", "unexpected<=0", "lost<=0", "repeated<=0"],
};

/** Every profile by its name on the command line. */
export const profiles: Readonly<Record<string, Profile>> = { citibike };

const DEFAULT_WARM_UP_MS = 2000;

/** Returns the profile for scenarios from the command line, each with the same rate. */
export function profileOf(
  scenarioNames: readonly string[],
  stream: Pick<StreamSpec, "ratePerSecond" | "arrivals">,
  durationMs: number,
): Profile {
  const needsSubscribers = scenarioNames.some((name) => scenarios[name]?.needsSubscribers === true);
  return {
    name: scenarioNames.join(","),
    description: "scenarios of the command line",
    city: { stations: 200, bikes: 4000, rides: 20_000 },
    partners: 10,
    keyRateLimit: UNLIMITED_RATE,
    subscribers: needsSubscribers ? 4 : 0,
    durationMs,
    warmUpMs: DEFAULT_WARM_UP_MS,
    streams: scenarioNames.map((scenario) => ({ name: scenario, scenario, ...stream })),
    thresholds: ["unexpected<=0", ...(needsSubscribers ? ["lost<=0"] : [])],
  };
}

/** Returns the profile that replays a recorded day, up to the duration. */
export function profileOfReplay(replay: Replay, durationMs: number): Profile {
  const events = replay.events.filter(({ atMs }) => atMs < durationMs);
  const ratePerSecond = events.length / (durationMs / 1000);
  return {
    name: "replay",
    description: "a recorded day",
    // The recorded day has its own stations and bikes.
    city: { stations: 0, bikes: 0, rides: 0 },
    partners: 1,
    keyRateLimit: UNLIMITED_RATE,
    subscribers: 0,
    durationMs,
    warmUpMs: DEFAULT_WARM_UP_MS,
    streams: [{ name: "replay", scenario: "replay", ratePerSecond, arrivals: "constant" }],
    thresholds: ["unexpected<=0"],
    replay: { ...replay, events },
  };
}
