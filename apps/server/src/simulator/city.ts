import type { Random } from "./random.ts";

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

export interface City {
  readonly stations: readonly [CityStation, ...CityStation[]];
  readonly bikes: readonly CityBike[];
}

/** The city's middle. A spot in the North Sea, so that nobody takes it for a real one. */
const CENTER = { lat: 54.5, lon: 3.5 };
/** Kilometres from the middle to the farthest station. */
const RADIUS = 6;
const KILOMETRES_PER_DEGREE = 111.32;

const FIRST = [
  "Harbour",
  "Mill",
  "Market",
  "Station",
  "Castle",
  "River",
  "Garden",
  "Church",
  "Museum",
  "Bridge",
  "Park",
  "School",
  "Orchard",
  "Tower",
  "Canal",
  "Meadow",
  "Linden",
  "Foundry",
  "Weaver",
  "Baker",
] as const;
const SECOND = ["Street", "Square", "Lane", "Gate", "Quay", "Avenue", "Row", "Hill", "Yard", "Corner"] as const;
const REGIONS = ["centre", "north", "east", "south", "west"] as const;

/** Makes a city with bikes. At most 200 stations have different names. */
export function makeCity(random: Random, size: { readonly stations: number; readonly bikes: number }): City {
  const names = FIRST.flatMap((first) => SECOND.map((second) => `${first} ${second}`));
  const docksPerStation = (size.bikes / size.stations) * 2;
  const stations = Array.from({ length: size.stations }, (_, index): CityStation => {
    // The square root spreads them evenly; without it they crowd in the middle. Cities lie between: 0.7.
    const distance = RADIUS * random.next() ** 0.7;
    const angle = random.next() * 2 * Math.PI;
    const lat = CENTER.lat + (distance * Math.sin(angle)) / KILOMETRES_PER_DEGREE;
    const lon =
      CENTER.lon + (distance * Math.cos(angle)) / (KILOMETRES_PER_DEGREE * Math.cos((CENTER.lat * Math.PI) / 180));
    const round = Math.floor(index / names.length);
    return {
      id: `station-${String(index + 1).padStart(3, "0")}`,
      name: `${names[(index * 37) % names.length]}${round > 0 ? ` ${round + 1}` : ""}`,
      lat: Number(lat.toFixed(6)),
      lon: Number(lon.toFixed(6)),
      capacity: Math.max(8, Math.round(docksPerStation * (0.7 + 0.6 * random.next()))),
      regionId: distance < RADIUS / 3 ? "centre" : (REGIONS[1 + Math.floor((angle / (2 * Math.PI)) * 4)] ?? "west"),
    };
  });
  const [first, ...others] = stations;
  if (first === undefined) throw new Error("a city needs at least one station");
  return {
    stations: [first, ...others],
    bikes: Array.from({ length: size.bikes }, (_, index) => {
      const isElectric = random.next() < 0.3;
      return {
        id: `bike-${String(index + 1).padStart(4, "0")}`,
        vehicleTypeId: isElectric ? "ebike" : "bike",
        isElectric,
      };
    }),
  };
}

/** Metres between two stations, as the crow flies. */
export function metresBetween(a: CityStation, b: CityStation): number {
  const metresPerDegree = KILOMETRES_PER_DEGREE * 1000;
  const north = (a.lat - b.lat) * metresPerDegree;
  const east = (a.lon - b.lon) * metresPerDegree * Math.cos((a.lat * Math.PI) / 180);
  return Math.hypot(north, east);
}
