import { MAX_TOTAL_HOLD_MINUTES } from "@bikeshare/contract";
import { extensionOf, reservationTransitions, statusAt } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import type { Transaction } from "../db/database.ts";
import { type ServiceError, serviceError } from "../errors/service-error.ts";
import { recordEvents } from "../events/outbox.ts";
import { lockBikes } from "./command.ts";
import { endingEvent, heldBy, type Moment, writeHolds } from "./holds.ts";
import {
  type EndedReservation,
  type Ending,
  endRows,
  extendRow,
  findBikeOf,
  lockDue,
  lockRows,
} from "./reservation-queries.ts";

export type { EndedReservation, LockedReservation } from "./reservation-queries.ts";

/** Whose reservations are asked for: a partner sees its own only. */
export interface ReservationOwner {
  readonly systemId: string;
  readonly partnerId: string;
}

/**
 * Cancels a partner's reservation and gives its bike back. Cancelling a cancelled one changes nothing.
 * @returns the reservation's JSON
 * @throws ServiceError `not_found`; `reservation_not_active` when it was fulfilled or has expired
 */
export function cancelReservation(context: CommandContext, owner: ReservationOwner, id: string): Promise<string> {
  const { systemId, partnerId } = owner;
  return context.db.transaction(async (tx) => {
    const moment = { ids: context.ids, systemId, now: new Date(context.clock()) };
    const bikeId = await findBikeOf(tx, systemId, partnerId, id);
    const bikes = await lockBikes(tx, systemId, bikeId === undefined ? [] : [bikeId]);
    const reservation = (await lockRows(tx, systemId, bikeId === undefined ? [] : [id])).get(id);
    if (reservation === undefined) throw notTheirs();
    const status = statusAt(reservation, moment.now);
    const next = reservationTransitions[status].cancel;
    if (next === "same") return reservation.json;
    if (next === "conflict") throw serviceError("reservation_not_active", "cancel", { status });
    const ended = await endRows(tx, systemId, moment.now, [{ id, status: next, reason: "partner" }]);
    await writeHolds(
      tx,
      moment,
      heldBy(bikes, ended).map((bike) => ({ bike, reservation_id: null })),
    );
    await recordEvents(
      tx,
      moment,
      ended.map((each) => endingEvent(each, moment.now)),
    );
    return ended[0]?.json ?? reservation.json;
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
  return context.db.transaction(async (tx) => {
    const now = new Date(context.clock());
    const bikeId = await findBikeOf(tx, systemId, partnerId, id);
    if (bikeId === undefined) throw notTheirs();
    // The bike first, like every command: while it is locked, nobody ends the reservation.
    await lockBikes(tx, systemId, [bikeId]);
    const reservation = (await lockRows(tx, systemId, [id])).get(id);
    if (reservation === undefined) throw notTheirs();
    const status = statusAt(reservation, now);
    if (status !== "active") {
      throw serviceError("reservation_not_active", "extend", { status });
    }
    const { expiresAt, minutesLeft } = extensionOf(reservation, minutes);
    if (minutes <= minutesLeft) return extendRow(tx, systemId, id, { expiresAt, now });
    throw serviceError("hold_limit_reached", "left", { limit: MAX_TOTAL_HOLD_MINUTES, left: minutesLeft });
  });
}

function notTheirs(): ServiceError {
  return serviceError("not_found", "reservation");
}

/** Locks reservations, in the order of their ids, and gives them by id. Their bikes are to be locked before. */
export const lockReservations = lockRows;

/** A ride that starts on a held bike. */
export interface Fulfilment {
  readonly reservationId: string;
  readonly rideId: string;
  /** When the ride started: when the event says that it happened. */
  readonly at: Date;
}

/**
 * Fulfils reservations whose bikes start rides, and records their events. One that has lapsed by `now` becomes expired
 * instead, because readers have been told so; one that is not active stays as it is. The caller holds the bikes
 * locked, and writes them and the counters.
 * @returns those that were fulfilled
 */
export async function fulfilReservations(
  tx: Transaction,
  moment: Moment,
  fulfilments: readonly Fulfilment[],
): Promise<EndedReservation[]> {
  const startedAt = new Map(fulfilments.map(({ reservationId, at }) => [reservationId, at]));
  const endings = fulfilments.map(({ reservationId, rideId }): Ending => ({
    id: reservationId,
    status: "fulfilled",
    rideId,
  }));
  const ended = await endRows(tx, moment.systemId, moment.now, endings);
  await recordEvents(
    tx,
    moment,
    ended.map((each) => endingEvent(each, startedAt.get(each.id) ?? moment.now)),
  );
  return ended.filter(({ status }) => status === "fulfilled");
}

/** A held bike that its rider cannot have. */
export interface BikeLoss {
  readonly reservationId: string;
  readonly reason: "bike_unavailable" | "operator";
}

/**
 * Cancels reservations whose bikes cannot be had, and records their events. One that has lapsed by `now` becomes
 * expired instead; one that is not active stays as it is. The caller holds the bikes locked, and writes them and the
 * counters.
 * @returns those that were cancelled
 */
export async function cancelForBikes(
  tx: Transaction,
  moment: Moment,
  losses: readonly BikeLoss[],
): Promise<EndedReservation[]> {
  const endings = losses.map(({ reservationId, reason }): Ending => ({
    id: reservationId,
    status: "cancelled",
    reason,
  }));
  const ended = await endRows(tx, moment.systemId, moment.now, endings);
  await recordEvents(
    tx,
    moment,
    ended.map((each) => endingEvent(each, moment.now)),
  );
  return ended.filter(({ status }) => status === "cancelled");
}

/**
 * Writes as expired what has lapsed by now, at most `limit` reservations, the oldest first, and gives their bikes
 * back. Any number of processes may do so at once: each reservation expires once. Those whose bike is locked at the
 * moment are left for the next time.
 * @returns how many expired
 */
export function expireDue(context: CommandContext, systemId: string, limit: number): Promise<number> {
  return context.db.transaction(async (tx) => {
    const moment = { ids: context.ids, systemId, now: new Date(context.clock()) };
    const due = await lockDue(tx, systemId, moment.now, limit);
    if (due.length === 0) return 0;
    const bikes = await lockBikes(
      tx,
      systemId,
      due.map((each) => each.bike_id),
    );
    const expired = await endRows(
      tx,
      systemId,
      moment.now,
      due.map(({ id }) => ({ id, status: "expired" })),
    );
    await writeHolds(
      tx,
      moment,
      heldBy(bikes, expired).map((bike) => ({ bike, reservation_id: null })),
    );
    await recordEvents(
      tx,
      moment,
      expired.map((each) => endingEvent(each, moment.now)),
    );
    return expired.length;
  });
}
