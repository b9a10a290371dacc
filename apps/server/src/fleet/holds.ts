import { reservationOutcomeEvents, viewOf } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import type { NewEvent } from "../events/outbox.ts";
import type { Ids } from "../ids.ts";
import { changeBikes, type LiveBike, shiftsOf } from "./command.ts";
import { refreshCounters, shiftMirrored } from "./counter-queries.ts";
import { type EndedReservation, endRows } from "./reservation-queries.ts";

/** A command on a system's reservations: all of it happens at one instant. */
export interface Moment {
  readonly ids: Ids;
  readonly systemId: string;
  readonly now: Date;
}

/** Which reservation is to hold a locked bike from now on; null: none. */
export interface HoldChange {
  /** As it was locked. */
  readonly bike: LiveBike;
  readonly reservation_id: string | null;
}

/** Writes who holds bikes, and the counters of the stations where they stand. The last lock that a command takes. */
export async function writeHolds(tx: Transaction, moment: Moment, changes: readonly HoldChange[]): Promise<void> {
  if (changes.length === 0) return;
  const { systemId, now } = moment;
  const touched = await changeBikes(tx, moment, changes);
  await refreshCounters(tx, systemId, touched, now);
  await shiftMirrored(tx, systemId, shiftsOf(changes), now);
}

/** Locked bikes after their lapsed reservations have been expired. */
export interface Settled {
  /** As they are now, not yet written. */
  readonly bikes: ReadonlyMap<string, LiveBike>;
  readonly expired: readonly EndedReservation[];
  /** Bikes that were held until now, as they were locked. */
  readonly freed: readonly LiveBike[];
}

/**
 * Expires the lapsed ones of the reservations that hold locked bikes, which the sweeper has not reached yet.
 * @param others reservations that may have lapsed too, and whose bike may be gone
 */
export async function settleLapsed(
  tx: Transaction,
  { systemId, now }: Moment,
  locked: ReadonlyMap<string, LiveBike>,
  others: readonly string[],
): Promise<Settled> {
  const holding = [...locked.values()].flatMap((bike) => bike.reservation_id ?? []);
  const ids = new Set([...holding, ...others]);
  const expired = await endRows(
    tx,
    systemId,
    now,
    [...ids].map((id) => ({ id, status: "expired" })),
  );
  const freed = heldBy(locked, expired);
  const bikes = new Map(locked);
  for (const bike of freed)
    bikes.set(bike.id, { ...bike, reservation_id: null, ...viewOf({ ...bike, reservation_id: null }) });
  return { bikes, expired, freed };
}

/** Those of the locked bikes that the ended reservations held. */
export function heldBy(locked: ReadonlyMap<string, LiveBike>, ended: readonly EndedReservation[]): LiveBike[] {
  return ended.flatMap(({ id, bike_id }) => {
    const bike = locked.get(bike_id);
    return bike?.reservation_id === id ? [bike] : [];
  });
}

/** The event that tells its partner of a reservation's end at `at`; of an expiry, whenever it is written, at `expires_at`. */
export function endingEvent({ status, partner_id, expires_at, json }: EndedReservation, at: Date): NewEvent {
  return {
    name: reservationOutcomeEvents[status],
    occurredAt: status === "expired" ? expires_at : at,
    partnerId: partner_id,
    data: json,
  };
}
