import { countRows } from "../counts/service.ts";
import type { Database } from "../db/database.ts";
import { findStations, insertStubStations, type StubRow } from "./stub-queries.ts";

/** A station as the records of rides know it. */
export interface StationSighting {
  readonly id: string;
  readonly name: string | null;
  /** Degrees; null where no record said. */
  readonly place: { readonly lat: number; readonly lon: number } | null;
}

/** What became of the stations that there were not. */
export interface StubStations {
  readonly made: readonly string[];
  /** Stations that could not be made, because nothing says where they are. */
  readonly withoutPlace: readonly string[];
}

/**
 * Makes a stub of each station that is sighted and that there is not: out of service, as one that its source gave
 * up, until a feed claims it and fills it in. Stations that there are stay as they are. Makes no events.
 */
export function makeStubStations(
  db: Database,
  origin: { readonly systemId: string; readonly source: string; readonly updatedAt: string; readonly slot: number },
  sightings: readonly StationSighting[],
): Promise<StubStations> {
  const { systemId, slot } = origin;
  return db.transaction(async (tx) => {
    const ids = sightings.map(({ id }) => id);
    const known = new Set(await findStations(tx, systemId, ids));
    const unknown = sightings.filter(({ id }) => !known.has(id));
    const withoutPlace = unknown.filter(({ place }) => place === null).map(({ id }) => id);
    const stubs = unknown.flatMap(({ id, name, place }): StubRow[] =>
      place === null ? [] : [{ id, name: name ?? id, ...place }],
    );
    const made = stubs.length === 0 ? [] : await insertStubStations(tx, systemId, origin, stubs);
    await countRows(tx, systemId, "stations", slot, made.length);
    return { made, withoutPlace };
  });
}
