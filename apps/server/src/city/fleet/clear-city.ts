import type { CommandContext } from "../../command-context.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { recordDeletedRows } from "../changes/service.ts";
import { countRides, countRows, pickSlot } from "../counts/service.ts";
import { deleteCity } from "./clear-city-queries.ts";

/**
 * Deletes the stations, bikes, rides, reservations and alerts of a system, and their history and sums. Keeps the list of
 * events and the log of deliveries. Records no events.
 */
export async function clearCity(
  { ids }: Pick<CommandContext, "ids">,
  tx: Transaction,
  systemId: string,
): Promise<void> {
  const { bikes, stations, rides } = await deleteCity(tx, systemId);
  for (const list of ["bikes", "rides", "stations", "reservations"] as const)
    await recordDeletedRows(tx, systemId, list);
  const slot = pickSlot(() => ids.random());
  countRows(tx, systemId, "bikes", slot, -bikes);
  countRides(tx, systemId, slot, { deleted: rides });
  countRows(tx, systemId, "stations", slot, -stations);
  for (const channel of ["bikes", "stations"]) tx.notify(channel, systemId);
}

export { updateHistoryBegin as beginHistoryOfStations } from "./clear-city-queries.ts";
