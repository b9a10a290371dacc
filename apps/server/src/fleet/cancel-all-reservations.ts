import type { CommandContext } from "../command-context.ts";
import { recordEvents } from "../events/outbox.ts";
import { lockBikes } from "./command.ts";
import { endingEvent, heldBy, writeHolds } from "./holds.ts";
import type { ReservationOwner } from "./reservation-commands.ts";
import { endRows, listActive, lockRows } from "./reservation-queries.ts";

/**
 * Cancels every active reservation of a partner, in the operator's name, and gives the bikes back. One that has lapsed
 * becomes expired instead. The caller holds the partner locked, so that none is made meanwhile.
 * @returns how many were cancelled
 */
export function cancelAllReservations(context: CommandContext, owner: ReservationOwner): Promise<number> {
  const { systemId, partnerId } = owner;
  return context.db.transaction(async (tx) => {
    const moment = { ids: context.ids, systemId, now: new Date(context.clock()) };
    const active = await listActive(tx, systemId, partnerId);
    if (active.length === 0) return 0;
    const bikeIds = active.map(({ bike_id: bikeId }) => bikeId);
    const ids = active.map(({ id }) => id);
    const bikes = await lockBikes(tx, systemId, bikeIds);
    await lockRows(tx, systemId, ids);
    const endings = ids.map((id) => ({ id, status: "cancelled" as const, reason: "operator" as const }));
    const ended = await endRows(tx, systemId, moment.now, endings);
    const freed = heldBy(bikes, ended).map((bike) => ({ bike, reservation_id: null }));
    await writeHolds(tx, moment, freed);
    const events = ended.map((each) => endingEvent(each, moment.now));
    await recordEvents(tx, moment, events);
    return ended.filter(({ status }) => status === "cancelled").length;
  });
}
