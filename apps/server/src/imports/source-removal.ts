import { countRows } from "../counts/service.ts";
import type { Transaction } from "../db/database.ts";
import type { ImportRow } from "./queries.ts";
import { deleteSource, lockSourceRows, readSourceState } from "./source-removal-queries.ts";

/**
 * Why a feed's source is not any more as an import left it; undefined when it is. Then the import brought the source
 * in, and nothing has used its stations and bikes since. Locks them until the transaction ends.
 */
export async function sourceSinceImport(
  tx: Transaction,
  systemId: string,
  row: ImportRow,
): Promise<string | undefined> {
  await lockSourceRows(tx, systemId, row.source);
  const { stations, bikes, changed, uses } = await readSourceState(tx, systemId, row.source, row.at);
  const made = { stations: row.stations_created, bikes: row.created - row.stations_created };
  if (stations > made.stations || bikes > made.bikes || changed > 0) {
    return `${changed} stations and bikes of the source "${row.source}" were there before or were changed since.`;
  }
  if (stations < made.stations || bikes < made.bikes) {
    return `some of the stations and bikes that it made are gone or belong to another source.`;
  }
  if (uses > 0) return `rides, reservations or other bikes name ${uses} of its stations and bikes.`;
  return undefined;
}

/** Removes a feed's source, its stations and its bikes, as if the feed had never been seen; `countRemoved` follows. */
export const removeSource = deleteSource;

/** Takes what was removed out of the kept lengths of the lists. To be the last statement of the transaction. */
export async function countRemoved(
  tx: Transaction,
  systemId: string,
  slot: number,
  { stations, bikes }: { readonly stations: number; readonly bikes: number },
): Promise<void> {
  await countRows(tx, systemId, "bikes", slot, -bikes);
  await countRows(tx, systemId, "stations", slot, -stations);
}
