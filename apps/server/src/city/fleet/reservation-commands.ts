import { extendedExpiry, mayCancel, ServiceError, serviceError, statusAt } from "@bikeshare/rules";
import type { CommandContext } from "../../command-context.ts";
import { type PeriodicWork, startSweeper, type SweeperSurroundings } from "../../storage/background/periodic.ts";
import { valueOf } from "../../storage/db/rows.ts";
import { sweepUnits, type UnitWork } from "../../storage/set-aside/units.ts";
import { type FleetCommand, runCommand } from "./command.ts";
import {
  claimOverdueReservations,
  listBikesOfReservations,
  listOverdueReservations,
  listUnendedReservations,
  type LockedReservation,
  lockQuotas,
  updateReservationEnd,
} from "./reservation-queries.ts";

/*
 * Commands on reservations that exist: a partner cancels or extends one, the operator removes a partner, and a sweeper
 * stores that overdue ones have expired. Each frees the bikes of the reservations that it ends.
 */

/** The owner of a reservation. A partner sees only its own reservations. */
export interface ReservationOwner {
  readonly systemId: string;
  readonly partnerId: string;
}

/** A partner's reservation. */
export interface OwnedReservation {
  readonly partnerId: string;
  readonly id: string;
}

/**
 * Cancels a partner's reservation and frees its bike. Cancelling a cancelled reservation changes nothing.
 * @returns the reservation's JSON
 * @throws ServiceError `not_found`; `reservation_not_active` when it was fulfilled or has expired
 */
export async function cancelReservation(
  context: CommandContext,
  { systemId, partnerId }: ReservationOwner,
  id: string,
): Promise<string> {
  const [outcome] = await cancelReservations(context, systemId, [{ partnerId, id }]);
  if (outcome === undefined) throw new Error("expected an outcome");
  if ("error" in outcome) throw outcome.error;
  return outcome.result;
}

/**
 * Cancels reservations of any partners in one transaction, each as if alone.
 * @returns for each reservation its JSON or its error
 */
export function cancelReservations(
  context: CommandContext,
  systemId: string,
  owned: readonly OwnedReservation[],
): Promise<({ readonly result: string } | { readonly error: ServiceError })[]> {
  return runCommand(context, systemId, async (command) => {
    const reservations = await lockWithBikes(command, owned);
    const decided = owned.map((each) => decideCancel(command, each, reservations));
    const ids = new Set(decided.flatMap((decision) => ("cancel" in decision ? [decision.cancel] : [])));
    const ended = await command.endReservations([...ids].map((id) => ({ id, status: "cancelled", reason: "partner" })));
    const json = new Map(ended.map((each) => [each.id, each.json]));
    return decided.map((decision) =>
      "cancel" in decision ? { result: json.get(decision.cancel) ?? decision.json } : decision,
    );
  });
}

/** The decision about a request to cancel: the id of the reservation to cancel and its present JSON, or the result. */
type CancelDecision =
  | { readonly cancel: string; readonly json: string }
  | { readonly result: string }
  | { readonly error: ServiceError };

function decideCancel(
  { now }: FleetCommand,
  { partnerId, id }: OwnedReservation,
  reservations: ReadonlyMap<string, LockedReservation>,
): CancelDecision {
  const reservation = reservations.get(id);
  // The map may contain another partner's reservation, because requests of several partners share the transaction.
  if (reservation?.partner_id !== partnerId) return { error: serviceError("not_found", "reservation") };
  try {
    const { json } = reservation;
    // `mayCancel` is false for a cancelled reservation, and throws for one that ended otherwise.
    return mayCancel(statusAt(reservation, now)) ? { cancel: id, json } : { result: json };
  } catch (error) {
    if (error instanceof ServiceError) return { error };
    throw error;
  }
}

/**
 * Extends a partner's reservation, so that it holds its bike for some more minutes.
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
    const reservation = (await lockWithBikes(command, [{ partnerId, id }])).get(id);
    if (reservation === undefined) throw serviceError("not_found", "reservation");
    return updateReservationEnd(tx, systemId, id, { expiresAt: extendedExpiry(reservation, minutes, now), now });
  });
}

/**
 * Locks the bikes of reservations, then the reservations, so that nobody else can end them meanwhile.
 * @returns the reservations that exist and belong to the partner named with them, by id
 */
async function lockWithBikes(
  command: FleetCommand,
  owned: readonly OwnedReservation[],
): Promise<ReadonlyMap<string, LockedReservation>> {
  const ids = owned.map(({ id }) => id);
  const [held, , locked] = await Promise.all([
    listBikesOfReservations(command.tx, command.systemId, owned),
    command.lockBikesOfReservations(ids),
    command.lockReservations(ids),
  ]);
  return new Map(held.flatMap(({ id }) => (locked.has(id) ? [[id, valueOf(locked, id)]] : [])));
}

/**
 * Cancels every active reservation of a partner in the operator's name, and frees the bikes. A reservation past its end
 * expires instead. Call it in the transaction that removes the partner. A concurrent request either creates its reservation
 * before, and it is cancelled here, or it is refused because the partner is removed.
 * @returns how many reservations were cancelled
 */
export function cancelAllReservations(
  context: CommandContext,
  { systemId, partnerId }: ReservationOwner,
): Promise<number> {
  return runCommand(context, systemId, async (command) => {
    command.locks("quotas");
    await lockQuotas(command.tx, systemId, [partnerId]);
    const reservations = await listUnendedReservations(command.tx, systemId, partnerId);
    const ids = reservations.map(({ id }) => id);
    await command.lockBikes(reservations.map(({ bike_id: bikeId }) => bikeId));
    await command.lockReservations(ids);
    const ended = await command.endReservations(ids.map((id) => ({ id, status: "cancelled", reason: "operator" })));
    return ended.filter(({ status }) => status === "cancelled").length;
  });
}

/**
 * Returns at most `limit` ids of reservations that have passed their end and are not written as expired, the oldest first.
 * @param apart ids that are left out
 */
export function overdueReservations(
  { db, clock }: Pick<CommandContext, "db" | "clock">,
  systemId: string,
  limit: number,
  apart: readonly string[],
): Promise<string[]> {
  return listOverdueReservations(db, systemId, { now: new Date(clock()), limit, apart });
}

/**
 * Writes reservations that have passed their end as expired, and frees their bikes. Several processes may do so at the same
 * time: each reservation expires once. Skips a reservation whose bike is locked; the next call expires it.
 * @returns how many reservations expired
 */
export function expireReservations(context: CommandContext, systemId: string, ids: readonly string[]): Promise<number> {
  return runCommand(context, systemId, async (command) => {
    command.locks("bikes");
    const overdue = await claimOverdueReservations(command.tx, systemId, command.now, ids);
    await command.lockBikes(overdue.map(({ bike_id: bikeId }) => bikeId));
    const ended = await command.endReservations(overdue.map(({ id }) => ({ id, status: "expired" })));
    return ended.length;
  });
}

/**
 * Time between two sweeps. Readers see a reservation expire at once; its bike, the station's counters and the event wait
 * for the sweep. Too low: most sweeps find nothing. Too high: delays the event.
 */
const INTERVAL_MS = 1_000;

/** Reservations in one transaction. Too low: makes more transactions. Too high: locks their stations' rows for longer. */
const BATCH_SIZE = 200;

/** Writes overdue reservations as expired, once a second. */
export function startReservationSweeper({
  systems,
  onError,
  watch,
  ...context
}: CommandContext & SweeperSurroundings): PeriodicWork<number> {
  const work: UnitWork = {
    db: context.db,
    work: "expire-reservation",
    // This process reads the reservations, so one with bad data could end it.
    canCrash: true,
    list: (systemId, limit, apart) => overdueReservations(context, systemId, limit, apart),
    run: (systemId, ids) => expireReservations(context, systemId, ids),
    onError,
  };
  return startSweeper({
    intervalMs: INTERVAL_MS,
    batchSize: BATCH_SIZE,
    systems,
    sweep: (systemId, limit) => sweepUnits(work, systemId, limit),
    onError,
    watch,
  });
}
