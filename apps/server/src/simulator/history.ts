import type { City, CityBike, CityStation } from "./city.ts";
import { metresBetween } from "./city.ts";
import type { Random } from "./random.ts";

/** A ride that a made-up city saw. */
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

export interface History {
  /** In the order in which they started. */
  readonly rides: readonly CityRide[];
  /** Where each bike stands after its last ride. */
  readonly standing: ReadonlyMap<CityBike, CityStation>;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** How many rides start in each hour of a day (UTC), relative to one another: two rush hours and a quiet night. */
export const RUSH = [1, 1, 1, 1, 2, 6, 14, 26, 30, 18, 13, 14, 17, 17, 16, 18, 26, 34, 30, 20, 14, 9, 6, 3] as const;

/**
 * Makes past rides, spread over the days before `now`. Each bike starts where it stopped and never rides twice at
 * once.
 */
export function makeHistory(
  city: City,
  random: Random,
  options: { readonly rides: number; readonly days: number; readonly now: number },
): History {
  const standing = new Map(city.bikes.map((bike) => [bike, random.pick(city.stations)]));
  // A few more than asked for: a ride that finds no time between its neighbours is left out.
  const ridesPerBike = Math.ceil((options.rides / city.bikes.length) * 1.05) + 1;
  const rides = city.bikes.flatMap((bike) =>
    ridesOf(bike, city, random, standing, { ...options, rides: ridesPerBike }),
  );
  rides.sort((a, b) => a.startedAt - b.startedAt || (a.bike.id < b.bike.id ? -1 : 1));
  // The oldest go first, so that each bike's last ride still ends where it stands.
  const kept = rides.slice(-options.rides);
  return {
    rides: kept.map((ride, index) => ({ ...ride, id: `ride-${String(index + 1).padStart(6, "0")}` })),
    standing,
  };
}

function ridesOf(
  bike: CityBike,
  city: City,
  random: Random,
  standing: Map<CityBike, CityStation>,
  options: { readonly rides: number; readonly days: number; readonly now: number },
): CityRide[] {
  const starts = Array.from({ length: options.rides }, () => startInstant(random, options)).sort((a, b) => a - b);
  const rides: CityRide[] = [];
  for (const [index, startedAt] of starts.entries()) {
    const from = standing.get(bike) ?? city.stations[0];
    const to = random.pick(city.stations);
    const distanceMeters = Math.round(metresBetween(from, to) * 1.3) + random.between(50, 400);
    const speed = (bike.isElectric ? 5 : 4) * (0.7 + 0.5 * random.next());
    const wanted = startedAt + Math.round((distanceMeters / speed) * 1000) + random.between(20, 240) * 1000;
    // The bike must be back before its next ride, and before now.
    const endedAt = Math.min(wanted, (starts[index + 1] ?? options.now) - 1000);
    if (endedAt <= startedAt) continue;
    const outside = random.next() < 0.01;
    rides.push({
      id: "",
      bike,
      from,
      to: outside ? undefined : to,
      startedAt,
      endedAt,
      distanceMeters,
      riderCategory: random.next() < 0.8 ? "member" : "casual",
    });
    // A bike left outside a station is brought to the nearest one: here, to where its rider was going.
    standing.set(bike, to);
  }
  return rides;
}

function startInstant(random: Random, { days, now }: { readonly days: number; readonly now: number }): number {
  const total = RUSH.reduce((sum, weight) => sum + weight, 0);
  let rest = random.next() * total;
  const hour = RUSH.findIndex((weight) => (rest -= weight) < 0);
  const today = Math.floor(now / DAY) * DAY;
  const instant = today - random.between(0, days - 1) * DAY + hour * HOUR + random.between(0, HOUR - 1);
  return instant < now - HOUR ? instant : instant - days * DAY;
}
