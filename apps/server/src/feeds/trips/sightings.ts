import type { StationSighting } from "../../fleet/placeholder-stations.ts";
import type { TripEnd } from "./read-trip.ts";

/** Where in the file a station was first named. */
interface FirstMention {
  readonly row: number;
  readonly column: string;
}

/** The stations that a file's trips name; each with the name and place of the first row that has a place. */
export interface Sightings {
  add(end: TripEnd, row: number, column: string): void;
  all(): readonly StationSighting[];
  firstMention(stationId: string): FirstMention | undefined;
}

export function collectSightings(): Sightings {
  const stations = new Map<string, StationSighting & FirstMention>();
  return {
    add({ stationId, stationName, place }, row, column) {
      if (stationId === null) return;
      const before = stations.get(stationId);
      if (before !== undefined && (before.place !== null || place === null)) return;
      const first = before ?? { row, column };
      stations.set(stationId, {
        id: stationId,
        name: stationName ?? before?.name ?? null,
        place,
        row: first.row,
        column: first.column,
      });
    },
    all: () => [...stations.values()],
    firstMention: (stationId) => stations.get(stationId),
  };
}
