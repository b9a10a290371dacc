import {
  type City,
  type CityStation,
  HOURLY_WEIGHTS,
  metresBetween,
  randomRider,
  riddenMetres,
  TOTAL_WEIGHT,
} from "./city.ts";
import { createRandom, type Random } from "./random.ts";

/*
 * Plans what happens in each minute of a simulated city, by chance but repeatably: rides, broken bikes, stations without
 * power, vans and reports of bikes. city-life.ts carries the plan out with the bikes that are there at that moment.
 */

/** Something that happens in a simulated city. */
export type CityEvent = {
  /** Milliseconds after the minute's start. */
  readonly offsetMs: number;
} & (
  | PlannedRide
  /** A station loses its power. */
  | { readonly kind: "station_fails"; readonly station: CityStation; readonly seconds: number }
  /** A bike of a station breaks and is repaired. */
  | { readonly kind: "bike_breaks"; readonly station: CityStation; readonly seconds: number }
  /** A van brings bikes from the fullest station to the emptiest. */
  | { readonly kind: "van"; readonly bikes: number; readonly seconds: number }
  | Telemetry
);

/** An event of one kind. */
export type CityEventOf<Kind extends CityEvent["kind"]> = Extract<CityEvent, { readonly kind: Kind }>;

/** Somebody rides from a station. */
interface PlannedRide {
  readonly kind: "ride";
  readonly from: CityStation;
  readonly to: CityStation;
  readonly seconds: number;
  readonly distanceMeters: number;
  readonly riderCategory: "member" | "casual";
  /** `outside`: the ride ends near the station `to`. `cancelled`: the ride is cancelled shortly after its start. */
  readonly end: "returned" | "outside" | "cancelled";
  /** Whether the bike had no reception: start and end are sent together when the ride is over. */
  readonly isDelayed: boolean;
  /** Whether the backend sends the ride's commands twice. */
  readonly isRepeated: boolean;
}

/** The bikes of a station report their range. */
interface Telemetry {
  readonly kind: "telemetry";
  readonly station: CityStation;
  readonly rangeMeters: number;
  /** Whether the report is older than the newest state of the bikes: then it must change nothing. */
  readonly isDelayed: boolean;
}

/** How many rides each bike makes on a day, as in large systems. */
const RIDES_PER_BIKE_A_DAY = 2.5;
const MINUTES_PER_DAY = 1440;
/** Shares of rides with a peculiarity. They are larger than in real systems, so that each is seen within minutes. */
const SHARES = { cancelled: 0.03, outside: 0.02, delayed: 0.03, repeated: 0.03 };
/** How often each station fails, and each bike breaks, in a simulated day. */
const STATION_FAILURES_A_DAY = 0.5;
const BIKE_FAILURES_A_DAY = 0.03;
/** How many tours vans make in a simulated hour, all vans of the city together. */
const VAN_TOURS_AN_HOUR = 12;
/** How often each station's bikes report in a simulated hour. */
const TELEMETRY_AN_HOUR = 0.5;

/**
 * Returns what happens in one minute of a city. Equal arguments give equal events.
 * @param minute simulated minutes since the midnight of the first day
 */
export function planMinute(city: City, seed: number, minute: number): CityEvent[] {
  // Multiplied by large odd numbers, so that neighbouring seeds and minutes have nothing in common.
  const random = createRandom(Math.imul(seed, 0x9e3779b1) ^ Math.imul(minute + 1, 0x85ebca6b));
  const hour = Math.floor(minute / 60) % 24;
  const rides = (city.bikes.length * RIDES_PER_BIKE_A_DAY * (HOURLY_WEIGHTS[hour] ?? 0)) / TOTAL_WEIGHT / 60;
  const stations = city.stations.length;
  return [
    ...repeat(random, rides, () => plannedRide(city, random, hour)),
    ...repeat(random, (stations * STATION_FAILURES_A_DAY) / MINUTES_PER_DAY, () => ({
      kind: "station_fails" as const,
      station: random.pick(city.stations),
      seconds: random.between(300, 3600),
    })),
    ...repeat(random, (city.bikes.length * BIKE_FAILURES_A_DAY) / MINUTES_PER_DAY, () => ({
      kind: "bike_breaks" as const,
      station: random.pick(city.stations),
      seconds: random.between(3600, 14_400),
    })),
    ...repeat(random, VAN_TOURS_AN_HOUR / 60, () => ({
      kind: "van" as const,
      bikes: random.between(2, 8),
      seconds: random.between(600, 1800),
    })),
    ...repeat(random, (stations * TELEMETRY_AN_HOUR) / 60, () => ({
      kind: "telemetry" as const,
      station: random.pick(city.stations),
      rangeMeters: random.between(2000, 60_000),
      isDelayed: random.next() < 0.2,
    })),
  ].sort((a, b) => a.offsetMs - b.offsetMs);
}

/** Makes a random number of events, `expected` on average, each at a random time of the minute. */
function repeat<Made>(random: Random, expected: number, make: () => Made): (Made & { readonly offsetMs: number })[] {
  const n = Math.floor(expected + random.next());
  return Array.from({ length: n }, () => ({ ...make(), offsetMs: random.between(0, 59_999) }));
}

function plannedRide(city: City, random: Random, hour: number): PlannedRide {
  const [a, b] = [random.pick(city.stations), random.pick(city.stations)];
  const [outer, inner] = centrality(city, a) < centrality(city, b) ? [a, b] : [b, a];
  // Commuters ride to the centre in the morning and back in the evening. Vans correct the imbalance.
  const isCommute = random.next() < 0.6;
  const [start, end] = commute(isCommute, hour, [outer, inner], [a, b]);
  const distanceMeters = riddenMetres(random, start, end);
  const endChance = random.next();
  const metresPerSecond = 3 + 2 * random.next();
  return {
    kind: "ride",
    from: start,
    to: end,
    // A ride takes longer than its distance needs.
    seconds: Math.round(distanceMeters / metresPerSecond) + random.between(20, 240),
    distanceMeters,
    riderCategory: randomRider(random),
    end: rideEnd(endChance),
    isDelayed: random.next() < SHARES.delayed,
    isRepeated: random.next() < SHARES.repeated,
  };
}

type Direction = readonly [CityStation, CityStation];

/** Returns the start and the end of a ride. A commute goes into the centre before noon, and out of it from 15:00 on. */
function commute(isCommute: boolean, hour: number, [outer, inner]: Direction, otherwise: Direction): Direction {
  if (isCommute && hour < 12) return [outer, inner];
  return isCommute && hour >= 15 ? [inner, outer] : otherwise;
}

function rideEnd(chance: number): PlannedRide["end"] {
  if (chance < SHARES.cancelled) return "cancelled";
  return chance < SHARES.cancelled + SHARES.outside ? "outside" : "returned";
}

/**
 * Returns a number that is greater for stations nearer to the centre: the first station of the region `centre`. Only its
 * order has a meaning.
 */
function centrality(city: City, station: CityStation): number {
  const middle = city.stations.find(({ regionId }) => regionId === "centre") ?? city.stations[0];
  return -metresBetween(middle, station);
}
