import type { City, CityStation } from "./city.ts";

/** Where the operator's backend believes its bikes to stand, ready to be ridden. */
export interface Fleet {
  put(bikeId: string, station: CityStation): void;
  /** Takes the bike that stands there longest; undefined when there is none. */
  take(station: CityStation): string | undefined;
  at(station: CityStation): readonly string[];
  /** The stations with the most and the fewest bikes for their docks. */
  fullest(): CityStation;
  emptiest(): CityStation;
}

export function createFleet(city: City): Fleet {
  const standing = new Map<string, string[]>(city.stations.map(({ id }) => [id, []]));
  const at = (station: CityStation) => standing.get(station.id) ?? [];
  const fill = (station: CityStation) => at(station).length / station.capacity;
  return {
    at,
    put: (bikeId, station) => void standing.get(station.id)?.push(bikeId),
    take: (station) => standing.get(station.id)?.shift(),
    fullest: () => city.stations.reduce((best, station) => (fill(station) > fill(best) ? station : best)),
    emptiest: () => city.stations.reduce((best, station) => (fill(station) < fill(best) ? station : best)),
  };
}
