import { countRows } from "../counts/service.ts";
import type { Queryable, Transaction } from "../db/database.ts";
import { findStations, insertStubStations, lockStations, type StubRow } from "./placeholder-station-queries.ts";

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

/** Whose stubs they are. */
export interface StubOrigin {
  readonly systemId: string;
  readonly importId: string;
  readonly source: string;
  /** RFC 3339. */
  readonly updatedAt: string;
  /** Which slot of the counts to use. */
  readonly slot: number;
}

/**
 * Makes a stub of each station that is sighted and that there is not: out of service, as one that its source gave
 * up, until a feed claims it and fills it in. Stations that there are stay as they are, and are not removed while the
 * transaction lasts. Makes no events.
 */
export async function makeStubStations(
  tx: Transaction,
  origin: StubOrigin,
  sightings: readonly StationSighting[],
): Promise<StubStations> {
  const { systemId, slot } = origin;
  const ids = sightings.map(({ id }) => id);
  const { stubs, withoutPlace } = wantedStubs(sightings, await lockStations(tx, systemId, ids));
  const made = stubs.length === 0 ? [] : await insertStubStations(tx, systemId, origin, stubs);
  await countRows(tx, systemId, "stations", slot, made.length);
  return { made, withoutPlace };
}

/** Which stub stations `makeStubStations` would make. */
export async function previewStubStations(
  db: Queryable,
  systemId: string,
  sightings: readonly StationSighting[],
): Promise<StubStations> {
  const ids = sightings.map(({ id }) => id);
  const { stubs, withoutPlace } = wantedStubs(sightings, await findStations(db, systemId, ids));
  return { made: stubs.map(({ id }) => id), withoutPlace };
}

function wantedStubs(
  sightings: readonly StationSighting[],
  there: readonly string[],
): { readonly stubs: readonly StubRow[]; readonly withoutPlace: readonly string[] } {
  const known = new Set(there);
  const unknown = sightings.filter(({ id }) => !known.has(id));
  return {
    withoutPlace: unknown.filter(({ place }) => place === null).map(({ id }) => id),
    stubs: unknown.flatMap(({ id, name, place }): StubRow[] =>
      place === null ? [] : [{ id, name: name ?? id, ...place }],
    ),
  };
}
