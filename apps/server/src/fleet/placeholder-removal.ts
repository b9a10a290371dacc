import { countRows } from "../counts/service.ts";
import type { Transaction } from "../db/database.ts";
import {
  bequeathStations,
  deleteStations,
  findUses,
  lockUntouchedPlaceholders,
  type PlaceholdersOfImport,
} from "./placeholder-removal-queries.ts";
import { notifyStationsChanged } from "./station-snapshot-queries.ts";

/**
 * Removes the placeholders of an import that are as it made them and that nothing uses. Those that rides of other imports use
 * are from now on the oldest such import's; those that something else uses, nobody's. To be called once the import's
 * own rides are gone. Makes no events: no such station ever was in service.
 * @returns how many it removed
 */
export async function removePlaceholderStations(
  tx: Transaction,
  placeholders: PlaceholdersOfImport,
  slot: number,
): Promise<number> {
  const { systemId } = placeholders;
  const untouched = await lockUntouchedPlaceholders(tx, placeholders);
  if (untouched.length === 0) return 0;
  const uses = await findUses(tx, systemId, untouched);
  const used = uses.filter((placeholder) => placeholder.in_use).map(({ id }) => id);
  const unused = uses.filter((placeholder) => !placeholder.in_use).map(({ id }) => id);
  if (used.length > 0) await bequeathStations(tx, systemId, used);
  if (unused.length > 0) {
    await deleteStations(tx, systemId, unused);
    await notifyStationsChanged(tx, systemId);
  }
  await countRows(tx, systemId, "stations", slot, -unused.length);
  return unused.length;
}
