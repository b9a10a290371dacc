import { pickSlot } from "../../city/counts/service.ts";
import {
  makePlaceholderStations,
  previewPlaceholderStations,
  type StationSighting,
  type PlaceholderStations,
} from "../../city/fleet/placeholder-stations.ts";
import {
  type PastRideBatch,
  type PastRidesWritten,
  type RideOrigin,
  type TryPastRides,
  writePastRides,
} from "../../city/fleet/ride-import.ts";
import { RIDE_TABLES, careForTables } from "../../storage/db/vacuum.ts";
import { shownAddress } from "../address.ts";
import { addToImport, beginImport, finishImport, type ImportReport } from "../imports/service.ts";
import type { TripImportOptions } from "./options.ts";

/** Writes an import's rides and stations: to the database or, in a dry run, nowhere. */
export interface TripWriter {
  /** How many batches may be written at the same time. */
  readonly lanes: "several" | "one";
  /** Inserts placeholders for unknown stations. @param rejected rows of the file that were rejected while it was read */
  stations(sightings: readonly StationSighting[], rejected: number): Promise<PlaceholderStations>;
  rides(batch: PastRideBatch): Promise<PastRidesWritten>;
  /** Inserts again the placeholders that undoing another import removed while the rides were written. */
  stationsAgain(sightings: readonly StationSighting[]): Promise<void>;
  /** Marks the import as done. @returns the id of its record; null when nothing was written */
  finish(report: ImportReport): Promise<string | null>;
}

/** Writes to the database, and records the import with the first file that has something to write. */
export function createTripWriter(options: TripImportOptions, origin: RideOrigin & { importId: string }): TripWriter {
  const { db, systemId, source, importId, ids, files, zone } = options;
  // Drawn anew for each transaction, so that writers rarely share a slot.
  const slot = () => pickSlot(() => ids.random());
  let isBegun = false;
  // A file repeats another one, or an import that was cut off, mostly over many rows on end.
  let areNew = true;
  return {
    lanes: "several",
    async stations(sightings, rejected) {
      const placeholders = await db.transaction(async (tx) => {
        if (!isBegun) {
          const detail = { files: files.map(shownAddress), time_zone: zone.name };
          await beginImport(tx, options, {
            systemId,
            id: importId,
            kind: "trips",
            source,
            at: new Date(origin.updatedAt),
            detail,
          });
        }
        const made = await makePlaceholderStations(tx, { ...origin, slot: slot() }, sightings);
        await addToImport(tx, systemId, importId, { rejected, stationsCreated: made.made.length });
        return made;
      });
      isBegun = true;
      return placeholders;
    },
    async rides(batch) {
      const written = await writePastRides(db, origin, batch, slot(), areNew);
      areNew = written.created === batch.rows;
      return written;
    },
    async stationsAgain(sightings) {
      await db.transaction(async (tx) => {
        const { made } = await makePlaceholderStations(tx, { ...origin, slot: slot() }, sightings);
        if (made.length > 0) await addToImport(tx, systemId, importId, { stationsCreated: made.length });
      });
    },
    async finish(report) {
      if (!isBegun) return null;
      await finishImport(db, systemId, importId, report);
      await careForTables(db.connectionString, RIDE_TABLES);
      return importId;
    },
  };
}

/** Counts what would be written. */
export function createTrialWriter({ db, systemId }: TripImportOptions, tryBatch: TryPastRides): TripWriter {
  const made = new Set<string>();
  return {
    lanes: "one",
    async stations(sightings) {
      const placeholders = await previewPlaceholderStations(db, systemId, sightings);
      const fresh = placeholders.made.filter((id) => !made.has(id));
      for (const id of fresh) made.add(id);
      return { made: fresh, withoutLocation: placeholders.withoutLocation.filter((id) => !made.has(id)) };
    },
    rides: tryBatch,
    stationsAgain: () => Promise.resolve(),
    finish: () => Promise.resolve(null),
  };
}
