import type { Random } from "./random.ts";

/*
 * A made-up city: its stations and bikes, the distances between them, and how often and how far its people ride. plan.ts
 * draws the present rides by that, and history.ts the past ones.
 */

/** A station of a made-up city. */
export interface CityStation {
  readonly id: string;
  readonly name: string;
  readonly lat: number;
  readonly lon: number;
  readonly capacity: number;
  readonly regionId: string;
}

/** A bike of a made-up city. */
export interface CityBike {
  readonly id: string;
  readonly vehicleTypeId: string;
  readonly isElectric: boolean;
}

/** The range of a simulated e-bike with a full battery, which a new e-bike reports. */
export const EBIKE_RANGE_METERS = 60_000;

/** The share of bikes that are e-bikes. */
const ELECTRIC_SHARE = 0.3;

/** A made-up city: its stations and its bikes, without their present places. */
export interface City {
  readonly stations: readonly [CityStation, ...CityStation[]];
  readonly bikes: readonly CityBike[];
}

/** A spot in the North Sea, so that nobody takes the city for a real one. */
const CENTER = { lat: 54.5, lon: 3.5 };
/** The city's radius: all stations are within it. */
const RADIUS_KM = 6;
const KILOMETRES_PER_DEGREE = 111.32;

const FIRST_WORDS =
  "Harbour Mill Market Station Castle River Garden Church Museum Bridge Park School Orchard Tower Canal Meadow Linden Foundry Weaver Baker".split(
    " ",
  );
const SECOND_WORDS = "Street Square Lane Gate Quay Avenue Row Hill Yard Corner".split(" ");
/** The districts around the centre, counter-clockwise: angle 0 is the east. */
const QUARTERS = ["east", "north", "west", "south"] as const;

/** Makes a city with stations and bikes. Station names repeat, with a number, after 200 stations. */
export function makeCity(random: Random, size: { readonly stations: number; readonly bikes: number }): City {
  const names = FIRST_WORDS.flatMap((first) => SECOND_WORDS.map((second) => `${first} ${second}`));
  // On average each bike has two docks, so that about half of the docks are free.
  const docksPerStation = (size.bikes / size.stations) * 2;
  const stations = Array.from({ length: size.stations }, (_, index): CityStation => {
    // An exponent of 0.5 would spread the stations evenly, 1 would crowd them in the centre. Real cities lie between.
    const distance = RADIUS_KM * random.next() ** 0.7;
    const angle = random.next() * 2 * Math.PI;
    const lat = CENTER.lat + (distance * Math.sin(angle)) / KILOMETRES_PER_DEGREE;
    const lon =
      CENTER.lon + (distance * Math.cos(angle)) / (KILOMETRES_PER_DEGREE * Math.cos((CENTER.lat * Math.PI) / 180));
    const round = Math.floor(index / names.length);
    return {
      id: `station-${paddedNumber(index, 3)}`,
      // 37 has no common factor with the number of names: each name comes once a round, and consecutive names differ in
      // both words.
      name: `${names[(index * 37) % names.length]}${round > 0 ? ` ${round + 1}` : ""}`,
      lat: Number(lat.toFixed(6)),
      lon: Number(lon.toFixed(6)),
      // Up to 30 % more or less than the average.
      capacity: Math.max(8, Math.round(docksPerStation * (0.7 + 0.6 * random.next()))),
      regionId: distance < RADIUS_KM / 3 ? "centre" : quarterOf(angle),
    };
  });
  const [first, ...others] = stations;
  if (first === undefined) throw new Error("a city needs at least one station");
  return {
    stations: [first, ...others],
    bikes: Array.from({ length: size.bikes }, (_, index) => {
      const isElectric = random.next() < ELECTRIC_SHARE;
      return { id: `bike-${paddedNumber(index, 4)}`, vehicleTypeId: isElectric ? "ebike" : "bike", isElectric };
    }),
  };
}

/** Returns the district in a direction from the centre. */
function quarterOf(angle: number): (typeof QUARTERS)[number] {
  return QUARTERS[Math.round((angle / (2 * Math.PI)) * 4) % 4] ?? "east";
}

/** Returns the number `index + 1` with leading zeros, so that ids sort as texts. */
function paddedNumber(index: number, length: number): string {
  return String(index + 1).padStart(length, "0");
}

/** Metres between two stations, as the crow flies. */
export function metresBetween(a: CityStation, b: CityStation): number {
  const metresPerDegree = KILOMETRES_PER_DEGREE * 1000;
  const north = (a.lat - b.lat) * metresPerDegree;
  const east = (a.lon - b.lon) * metresPerDegree * Math.cos((a.lat * Math.PI) / 180);
  return Math.hypot(north, east);
}

/** Returns how central a station is: 0 at the city's edge, 1 in its centre. */
export function centralityOf({ lat, lon }: CityStation): number {
  const north = (lat - CENTER.lat) * KILOMETRES_PER_DEGREE;
  const east = (lon - CENTER.lon) * KILOMETRES_PER_DEGREE * Math.cos((CENTER.lat * Math.PI) / 180);
  return 1 - Math.min(1, Math.hypot(north, east) / RADIUS_KM);
}

/** A ride in a simulated city. */
export interface CityRide {
  readonly id: string;
  readonly bike: CityBike;
  readonly from: CityStation;
  /** Undefined: it ended outside a station. */
  readonly to: CityStation | undefined;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly distanceMeters: number;
  readonly riderCategory: "member" | "casual";
}

/** How many rides start in each hour of a working day, relative to one another: two rush hours and a quiet night. */
export const HOURLY_WEIGHTS = [
  1, 1, 1, 1, 2, 6, 14, 26, 30, 18, 13, 14, 17, 17, 16, 18, 26, 34, 30, 20, 14, 9, 6, 3,
] as const;
export const TOTAL_WEIGHT = HOURLY_WEIGHTS.reduce((sum, weight) => sum + weight, 0);

/** Returns the length of a ride between two stations, which is longer than the straight line. */
export function riddenMetres(random: Random, from: CityStation, to: CityStation): number {
  return Math.round(metresBetween(from, to) * 1.3) + random.between(50, 400);
}

/** Returns the category of a random rider: four of five are members. */
export function randomRider(random: Random): "member" | "casual" {
  return random.next() < 0.8 ? "member" : "casual";
}
