import type { Backend } from "./backend.ts";
import type { CityStation } from "./city.ts";

/** The stations that have failed. */
export interface Outages {
  /** A station is offline until a moment. */
  fail(station: CityStation, until: number): void;
  /** A station was found offline; it is back at a moment. */
  found(station: CityStation, until: number): void;
  has(station: CityStation): boolean;
  /** Brings all of them back. */
  end(): void;
}

export function createOutages({ agenda, tell }: Backend): Outages {
  const offline = new Set<CityStation>();
  const bringBack = (station: CityStation) => {
    if (offline.delete(station)) tell({ path: "stations/online", about: station.id, item: { id: station.id } });
  };
  const found = (station: CityStation, until: number) => {
    offline.add(station);
    agenda.at(until, () => bringBack(station));
  };
  return {
    found,
    fail(station, until) {
      if (offline.has(station)) return;
      tell({ path: "stations/offline", about: station.id, item: { id: station.id } });
      found(station, until);
    },
    has: (station) => offline.has(station),
    end() {
      for (const station of offline) bringBack(station);
    },
  };
}
