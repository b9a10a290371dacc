import TinyQueue from "tinyqueue";
import type { City, CityStation } from "./city.ts";
import type { Command } from "./operator-client.ts";

/**
 * What all parts of the simulated operator's backend share. A `time` is simulated time: milliseconds since midnight of the
 * first day. An `instant` is a time of the wall clock: milliseconds since 1970.
 */
export interface Backend {
  readonly city: City;
  readonly schedule: Schedule;
  readonly fleet: Fleet;
  readonly send: (command: Command) => void;
  /** Returns an RFC 3339 timestamp for an event of a bike at a simulated time. It is later than the bike's previous one. */
  readonly timestamp: (bikeId: string, time: number) => string;
}

/** What a backend is made of. */
export interface BackendOptions extends Pick<Backend, "city" | "schedule" | "send"> {
  /** Returns the instant of the wall clock that a simulated time stands for. */
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
  /**
   * Runs the actions due up to a time, in the order of their times, also actions that these actions add. Actions for
   * the same time run in the order in which they were added.
   */
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

/** The available bikes at each station, as the simulated operator's backend believes. */
type Fleet = ReturnType<typeof createFleet>;

function createFleet(city: City) {
  const bikes = new Map<string, string[]>(city.stations.map(({ id }) => [id, []]));
  const at = (station: CityStation): readonly string[] => bikes.get(station.id) ?? [];
  /** Returns the share of occupied docks. */
  const fill = (station: CityStation) => at(station).length / station.capacity;
  return {
    at,
    put: (bikeId: string, station: CityStation) => void bikes.get(station.id)?.push(bikeId),
    /** Removes and returns the bike that has been there longest; undefined when there is none. */
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
  /** Adds a station that is offline already. It comes back at `until`. */
  const add = (station: CityStation, until: number) => {
    offline.add(station);
    schedule.at(until, () => end(station));
  };
  return {
    add,
    /** Takes a station offline until a simulated time. */
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
