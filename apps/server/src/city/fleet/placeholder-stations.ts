import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { endAlertsOfDeleted } from "../alerts/alert-changes.ts";
import { recordDeletedRows } from "../changes/service.ts";
import { countRows } from "../counts/service.ts";
import type { FleetCommand } from "./command.ts";
import {
  deletePlaceholders,
  insertPlaceholders,
  listKnownStations,
  listUses,
  lockKnownStations,
  lockUnchangedPlaceholders,
  type PlaceholdersOfImport,
  type PlaceholderStation,
  updatePlaceholderImports,
} from "./placeholder-station-queries.ts";

/*
 * Imports of trip files create a placeholder for each unknown station that their rides name, and undoing an import removes
 * its unused placeholders (docs/glossary.md#placeholder-station).
 */

/** A station as records of rides describe it. */
export interface StationSighting {
  readonly id: string;
  readonly name: string | null;
  /** Degrees; null when no record gives a location. */
  readonly location: { readonly lat: number; readonly lon: number } | null;
}

/** The outcome of creating placeholders for unknown stations. */
export interface PlaceholderStations {
  readonly made: readonly string[];
  /** Stations that could not be created because their location is unknown. */
  readonly withoutLocation: readonly string[];
}

/** The origin of placeholder stations. */
export interface PlaceholderOrigin {
  readonly systemId: string;
  readonly importId: string;
  readonly source: string;
  /** RFC 3339. */
  readonly updatedAt: string;
  /** The slot of the stored counts to add to (`pickSlot`). */
  readonly slot: number;
}

/**
 * Creates a placeholder for each station that rides name and that does not exist. A placeholder is offline, like a station
 * that its source no longer lists, until a feed describes it. Existing stations do not change, and cannot be deleted until
 * the transaction ends. Records no events.
 */
export async function makePlaceholderStations(
  tx: Transaction,
  origin: PlaceholderOrigin,
  sightings: readonly StationSighting[],
): Promise<PlaceholderStations> {
  const { systemId, slot } = origin;
  const ids = sightings.map(({ id }) => id);
  const { placeholders, withoutLocation } = missingStations(sightings, await lockKnownStations(tx, systemId, ids));
  const made = placeholders.length === 0 ? [] : await insertPlaceholders(tx, systemId, origin, placeholders);
  countRows(tx, systemId, "stations", slot, made.length);
  return { made, withoutLocation };
}

/** Returns the placeholder stations that `makePlaceholderStations` would create. */
export async function previewPlaceholderStations(
  db: Queryable,
  systemId: string,
  sightings: readonly StationSighting[],
): Promise<PlaceholderStations> {
  const ids = sightings.map(({ id }) => id);
  const { placeholders, withoutLocation } = missingStations(sightings, await listKnownStations(db, systemId, ids));
  return { made: placeholders.map(({ id }) => id), withoutLocation };
}

/** Splits the sightings of unknown stations into placeholders and those without a location. @param there ids that exist */
function missingStations(
  sightings: readonly StationSighting[],
  there: readonly string[],
): { readonly placeholders: readonly PlaceholderStation[]; readonly withoutLocation: readonly string[] } {
  const known = new Set(there);
  const unknown = sightings.filter(({ id }) => !known.has(id));
  return {
    withoutLocation: unknown.filter(({ location }) => location === null).map(({ id }) => id),
    placeholders: unknown.flatMap(({ id, name, location }): PlaceholderStation[] =>
      location === null ? [] : [{ id, name: name ?? id, ...location }],
    ),
  };
}

/**
 * Removes an import's placeholders that are unchanged and unused. A placeholder that rides of other imports use passes to
 * the oldest of those imports. A placeholder with any other use then belongs to no import. Call it after the import's own
 * rides are deleted. Records no station events, because no placeholder was ever in service. Ends the alerts that concern
 * only removed placeholders, and removes these placeholders from other alerts.
 * @returns how many placeholders it removed
 */
export async function removePlaceholderStations(
  command: FleetCommand,
  placeholders: Omit<PlaceholdersOfImport, "systemId">,
): Promise<number> {
  const { tx, systemId } = command;
  command.locks("stations");
  const unchanged = await lockUnchangedPlaceholders(tx, { ...placeholders, systemId });
  if (unchanged.length === 0) return 0;
  const uses = await listUses(tx, systemId, unchanged);
  const used = uses.filter((placeholder) => placeholder.in_use).map(({ id }) => id);
  const unused = uses.filter((placeholder) => !placeholder.in_use).map(({ id }) => id);
  if (used.length > 0) await updatePlaceholderImports(tx, systemId, used);
  if (unused.length > 0) {
    await deletePlaceholders(tx, systemId, unused);
    await recordDeletedRows(tx, systemId, "stations");
    await endAlertsOfDeleted(command, unused);
    command.notify("stations");
    command.count("stations", -unused.length);
  }
  return unused.length;
}
