import { countRows } from "../counts/service.ts";
import type { Queryable, Transaction } from "../db/database.ts";
import {
  findStations,
  insertPlaceholderStations,
  lockStations,
  type PlaceholderRow,
} from "./placeholder-station-queries.ts";

/** A station as the records of rides know it. */
export interface StationSighting {
  readonly id: string;
  readonly name: string | null;
  /** Degrees; null where no record said. */
  readonly location: { readonly lat: number; readonly lon: number } | null;
}

/** What became of the stations that there were not. */
export interface PlaceholderStations {
  readonly made: readonly string[];
  /** Stations that could not be made, because nothing says where they are. */
  readonly withoutLocation: readonly string[];
}

/** Whose placeholders they are. */
export interface PlaceholderOrigin {
  readonly systemId: string;
  readonly importId: string;
  readonly source: string;
  /** RFC 3339. */
  readonly updatedAt: string;
  /** Which slot of the counts to use. */
  readonly slot: number;
}

/**
 * Makes a placeholder of each station that is sighted and that there is not: out of service, as one that its source gave
 * up, until a feed claims it and fills it in. Stations that there are stay as they are, and are not removed while the
 * transaction lasts. Makes no events.
 */
export async function makePlaceholderStations(
  tx: Transaction,
  origin: PlaceholderOrigin,
  sightings: readonly StationSighting[],
): Promise<PlaceholderStations> {
  const { systemId, slot } = origin;
  const ids = sightings.map(({ id }) => id);
  const { placeholders, withoutLocation } = wantedPlaceholders(sightings, await lockStations(tx, systemId, ids));
  const made = placeholders.length === 0 ? [] : await insertPlaceholderStations(tx, systemId, origin, placeholders);
  await countRows(tx, systemId, "stations", slot, made.length);
  return { made, withoutLocation };
}

/** Which placeholder stations `makePlaceholderStations` would make. */
export async function previewPlaceholderStations(
  db: Queryable,
  systemId: string,
  sightings: readonly StationSighting[],
): Promise<PlaceholderStations> {
  const ids = sightings.map(({ id }) => id);
  const { placeholders, withoutLocation } = wantedPlaceholders(sightings, await findStations(db, systemId, ids));
  return { made: placeholders.map(({ id }) => id), withoutLocation };
}

function wantedPlaceholders(
  sightings: readonly StationSighting[],
  there: readonly string[],
): { readonly placeholders: readonly PlaceholderRow[]; readonly withoutLocation: readonly string[] } {
  const known = new Set(there);
  const unknown = sightings.filter(({ id }) => !known.has(id));
  return {
    withoutLocation: unknown.filter(({ location }) => location === null).map(({ id }) => id),
    placeholders: unknown.flatMap(({ id, name, location }): PlaceholderRow[] =>
      location === null ? [] : [{ id, name: name ?? id, ...location }],
    ),
  };
}
