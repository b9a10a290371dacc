import { extendedExpiry, mayCancel, serviceError, statusAt } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import { type FleetCommand, runCommand } from "./command.ts";
import {
  claimOverdueReservations,
  findBikeOfReservation,
  listUnendedReservations,
  type LockedReservation,
  updateReservationEnd,
} from "./reservation-queries.ts";

/** Whose reservation it is: a partner sees its own only. */
export interface ReservationOwner {
  readonly systemId: string;
  readonly partnerId: string;
}

/**
 * Cancels a partner's reservation and frees its bike. Cancelling a cancelled one changes nothing.
 * @returns the reservation's JSON
 * @throws ServiceError `not_found`; `reservation_not_active` when it was fulfilled or has expired
 */
export function cancelReservation(
  context: CommandContext,
  { systemId, partnerId }: ReservationOwner,
  id: string,
): Promise<string> {
  return runCommand(context, systemId, async (command) => {
    const reservation = await lockWithBike(command, partnerId, id);
    if (!mayCancel(statusAt(reservation, command.now))) return reservation.json;
    const [ended] = await command.endReservations([{ id, status: "cancelled", reason: "partner" }]);
    return ended?.json ?? reservation.json;
  });
}

/**
 * Has a partner's reservation hold its bike for some minutes more.
 * @returns the reservation's JSON
 * @throws ServiceError `not_found`; `reservation_not_active` when it has ended; `hold_limit_reached`
 */
export function extendReservation(
  context: CommandContext,
  { systemId, partnerId }: ReservationOwner,
  id: string,
  minutes: number,
): Promise<string> {
  return runCommand(context, systemId, async (command) => {
    const { tx, now } = command;
    const reservation = await lockWithBike(command, partnerId, id);
    return updateReservationEnd(tx, systemId, id, { expiresAt: extendedExpiry(reservation, minutes, now), now });
  });
}

/** Locks a partner's reservation, and its bike before: while that is locked, nobody ends the reservation. */
async function lockWithBike(command: FleetCommand, partnerId: string, id: string): Promise<LockedReservation> {
  const bikeId = await findBikeOfReservation(command.tx, command.systemId, partnerId, id);
  if (bikeId === undefined) throw serviceError("not_found", "reservation");
  await command.lockBikes([bikeId]);
  const reservation = (await command.lockReservations([id])).get(id);
  if (reservation === undefined) throw serviceError("not_found", "reservation");
  return reservation;
}

/**
 * Cancels every active reservation of a partner in the operator's name, and frees the bikes. One that has passed its end
 * expires instead. The caller holds the partner locked, so that none is made meanwhile.
 * @returns how many were cancelled
 */
export function cancelAllReservations(
  context: CommandContext,
  { systemId, partnerId }: ReservationOwner,
): Promise<number> {
  return runCommand(context, systemId, async (command) => {
    const reservations = await listUnendedReservations(command.tx, systemId, partnerId);
    const ids = reservations.map(({ id }) => id);
    await command.lockBikes(reservations.map(({ bike_id: bikeId }) => bikeId));
    await command.lockReservations(ids);
    const ended = await command.endReservations(ids.map((id) => ({ id, status: "cancelled", reason: "operator" })));
    return ended.filter(({ status }) => status === "cancelled").length;
  });
}

/**
 * Writes reservations as expired that have passed their end, at most `limit`, the oldest first, and frees their bikes.
 * Any number of processes may do so at once: each reservation expires once. Those whose bike is locked at the moment are
 * left for the next call.
 * @returns how many expired
 */
export function expireOverdueReservations(context: CommandContext, systemId: string, limit: number): Promise<number> {
  return runCommand(context, systemId, async (command) => {
    command.locks("bikes");
    const overdue = await claimOverdueReservations(command.tx, systemId, command.now, limit);
    await command.lockBikes(overdue.map(({ bike_id: bikeId }) => bikeId));
    const ended = await command.endReservations(overdue.map(({ id }) => ({ id, status: "expired" })));
    return ended.length;
  });
}
