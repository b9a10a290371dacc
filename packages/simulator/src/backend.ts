import TinyQueue from "tinyqueue";
import type { City, CityStation } from "./city.ts";
import type { Command } from "./operator-client.ts";

/**
 * What all parts of a made-up operator's backend work with. A `time` is simulated: milliseconds since the midnight of the
 * first day. An instant is the wall clock's: milliseconds since 1970.
 */
export interface Backend {
  readonly city: City;
  readonly schedule: Schedule;
  readonly fleet: Fleet;
  readonly send: (command: Command) => void;
  /** RFC 3339, for something that happens to a bike at a simulated time: later than everything before it. */
  readonly timestamp: (bikeId: string, time: number) => string;
}

export interface BackendOptions extends Pick<Backend, "city" | "schedule" | "send"> {
  readonly instantOf: (time: number) => number;
}

export function createBackend({ city, schedule, instantOf, send }: BackendOptions): Backend {
  const lastInstants = new Map<string, number>();
  return {
    city,
    schedule,
    fleet: createFleet(city),
    send,
    timestamp(bikeId, time) {
      const instant = Math.max(instantOf(time), (lastInstants.get(bikeId) ?? 0) + 1);
      lastInstants.set(bikeId, instant);
      return new Date(instant).toISOString();
    },
  };
}

/** The actions that are planned for later times. */
export interface Schedule {
  at(time: number, act: () => void): void;
  /** Does what is due up to a time, ordered by time, then by when it was added; also what that itself adds. */
  runUntil(time: number): void;
}

export function createSchedule(): Schedule {
  type Entry = { readonly time: number; readonly order: number; readonly act: () => void };
  const queue = new TinyQueue<Entry>([], (a, b) => a.time - b.time || a.order - b.order);
  let added = 0;
  return {
    at: (time, act) => queue.push({ time, order: added++, act }),
    runUntil(time) {
      while ((queue.peek()?.time ?? Number.POSITIVE_INFINITY) <= time) queue.pop()?.act();
    },
  };
}

/** Where the operator's backend believes its available bikes to be. */
type Fleet = ReturnType<typeof createFleet>;

function createFleet(city: City) {
  const bikes = new Map<string, string[]>(city.stations.map(({ id }) => [id, []]));
  const at = (station: CityStation): readonly string[] => bikes.get(station.id) ?? [];
  /** Bikes for each dock. */
  const fill = (station: CityStation) => at(station).length / station.capacity;
  return {
    at,
    put: (bikeId: string, station: CityStation) => void bikes.get(station.id)?.push(bikeId),
    /** Takes the bike that has been there longest; undefined when there is none. */
    take: (station: CityStation) => bikes.get(station.id)?.shift(),
    fullest: () => city.stations.reduce((best, station) => (fill(station) > fill(best) ? station : best)),
    emptiest: () => city.stations.reduce((best, station) => (fill(station) < fill(best) ? station : best)),
  };
}

/** The stations that are offline. */
export function createOutages({ schedule, send }: Backend) {
  const offline = new Set<CityStation>();
  const end = (station: CityStation) => {
    if (offline.delete(station)) send({ path: "stations/online", subjectId: station.id, item: { id: station.id } });
  };
  /** A station is offline already; it comes back at a time. */
  const add = (station: CityStation, until: number) => {
    offline.add(station);
    schedule.at(until, () => end(station));
  };
  return {
    add,
    /** A station goes offline until a time. */
    begin(station: CityStation, until: number) {
      if (offline.has(station)) return;
      const summary = `${station.name} is closed for repairs`;
      send({ path: "stations/offline", subjectId: station.id, item: { id: station.id, summary } });
      add(station, until);
    },
    has: (station: CityStation) => offline.has(station),
    endAll: () => offline.forEach(end),
  };
}
