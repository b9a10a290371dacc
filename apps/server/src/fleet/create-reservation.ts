import type { ReservationRequest } from "@bikeshare/contract";
import { chooseBike, expiryOf, isFree, rentsOut, reservationLimit, statusAt, type WantedBike } from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import type { Transaction } from "../db/database.ts";
import { type ServiceError, serviceError } from "../errors/service-error.ts";
import { recordEvents } from "../events/outbox.ts";
import { type LiveBike, lockBikes } from "./command.ts";
import { endingEvent, type Moment, type Settled, settleLapsed, writeHolds } from "./holds.ts";
import {
  countActiveReservations,
  findCandidates,
  findOfRider,
  findStation,
  insertReservation,
  lockPartnerLimit,
  markLocks,
  pickFreeBike,
  releaseLocks,
} from "./reservation-queries.ts";

export interface CreateReservation {
  readonly systemId: string;
  readonly partnerId: string;
  readonly request: ReservationRequest;
}

/**
 * Reserves a bike of a station, or one bike, for a partner's rider. The bike, the counters of its station, the
 * reservation and its event come into being together.
 * @returns the reservation's JSON
 * @throws ServiceError `invalid_parameter`, `not_found`, `station_offline`, `no_bike_available`, `bike_not_available`,
 *   `rider_has_active_reservation`, `too_many_reservations`; `unauthorized` when the partner is gone
 */
export async function createReservation(context: CommandContext, input: CreateReservation): Promise<string> {
  const { systemId, partnerId, request } = input;
  const { ids } = context;
  const take = takerOf(request);
  return context.db.transaction(async (tx) => {
    const moment = { ids, systemId, now: new Date(context.clock()) };
    await refuseBeyondLimit(tx, moment, partnerId);
    const lapsed = await lapsedOfRider(tx, moment, partnerId, request.rider_ref);
    const { bike, settled } = await take(tx, moment, lapsed);
    const id = ids.next("reservation");
    const json = await insertReservation(tx, systemId, {
      id,
      partner_id: partnerId,
      station_id: bike.station_id,
      bike_id: bike.id,
      vehicle_type_id: bike.vehicle_type_id,
      rider_ref: request.rider_ref ?? null,
      created_at: moment.now,
      expires_at: expiryOf(moment.now, request.hold_minutes),
    });
    if (json === undefined) throw riderIsTaken();
    await writeHolds(tx, moment, [
      ...settled.freed.filter((freed) => freed.id !== bike.id).map((freed) => ({ bike: freed, reservation_id: null })),
      { bike, reservation_id: id },
    ]);
    await recordEvents(tx, moment, [
      ...settled.expired.map((expired) => endingEvent(expired, moment.now)),
      { name: "reservation.created", occurredAt: moment.now, partnerId, data: json },
    ]);
    return json;
  });
}

/** A bike to be held, as it was locked, and what was settled on the way to it. */
interface Taken {
  readonly bike: LiveBike;
  readonly settled: Pick<Settled, "expired" | "freed">;
}

/** The rider's reservation that has lapsed and that nobody has written as expired yet: it ends on the way. */
type Lapsed = { readonly id: string; readonly bike_id: string } | undefined;

type Take = (tx: Transaction, moment: Moment, lapsed: Lapsed) => Promise<Taken>;

/** How to get what is asked for. */
function takerOf({ station_id, bike_id, vehicle_type_id }: ReservationRequest): Take {
  const vehicleTypeId = vehicle_type_id ?? null;
  if (station_id !== undefined && bike_id === undefined) {
    return (tx, moment, lapsed) => takeFromStation(tx, moment, { stationId: station_id, vehicleTypeId }, lapsed);
  }
  if (bike_id !== undefined && station_id === undefined) {
    return (tx, moment, lapsed) => takeNamed(tx, moment, { bikeId: bike_id, vehicleTypeId }, lapsed);
  }
  throw serviceError("invalid_parameter", "stationAndBike");
}

/** Refuses a partner that has as many bikes as it may have; locks it, so that of its requests one at a time counts. */
async function refuseBeyondLimit(tx: Transaction, { systemId, now }: Moment, partnerId: string): Promise<void> {
  const partner = await lockPartnerLimit(tx, systemId, partnerId);
  if (partner === undefined) throw serviceError("unauthorized", "inactivePartner");
  const limit = reservationLimit(partner.max_reservations);
  if ((await countActiveReservations(tx, systemId, partnerId, now)) < limit) return;
  throw serviceError("too_many_reservations", "limit", { limit });
}

async function lapsedOfRider(
  tx: Transaction,
  { systemId, now }: Moment,
  partnerId: string,
  riderRef: string | undefined,
): Promise<Lapsed> {
  const held = riderRef === undefined ? undefined : await findOfRider(tx, systemId, partnerId, riderRef);
  if (held !== undefined && statusAt(held, now) === "active") throw riderIsTaken();
  return held;
}

function riderIsTaken(): ServiceError {
  return serviceError("rider_has_active_reservation");
}

async function takeNamed(
  tx: Transaction,
  moment: Moment,
  { bikeId, vehicleTypeId }: { readonly bikeId: string; readonly vehicleTypeId: string | null },
  lapsed: Lapsed,
): Promise<Taken> {
  const locked = await lockBikes(tx, moment.systemId, [bikeId, ...bikeOf(lapsed)]);
  const settled = await settleLapsed(tx, moment, locked, idOf(lapsed));
  const bike = locked.get(bikeId);
  const now = settled.bikes.get(bikeId);
  if (bike === undefined || now === undefined) throw serviceError("not_found", "bike");
  if (!isFree(now)) throw serviceError("bike_not_available", "state", { state: now.vehicle_state });
  if (vehicleTypeId !== null && now.vehicle_type_id !== vehicleTypeId) {
    throw serviceError("bike_not_available", "vehicleType");
  }
  // A station that we do not know cannot forbid it.
  const station = now.station_id === null ? undefined : await findStation(tx, moment.systemId, now.station_id);
  if (station !== undefined && !rentsOut(station)) throw stationIsOffline();
  return { bike, settled };
}

/**
 * How often the free bikes of a station may be gone, one and all, by the time that they are locked, before the request
 * is refused while there are still others. Each time others got them, so somebody was served; more rounds keep a
 * connection waiting at a station that is fought over.
 */
const ROUNDS = 5;

async function takeFromStation(tx: Transaction, moment: Moment, wanted: WantedBike, lapsed: Lapsed): Promise<Taken> {
  const { systemId, now } = moment;
  const station = await findStation(tx, systemId, wanted.stationId);
  if (station === undefined) throw serviceError("not_found", "station");
  if (!rentsOut(station)) throw stationIsOffline();
  // A second lock, that of the lapsed reservation's bike, would have to keep the order of ids: all are then locked at once.
  const quick = lapsed === undefined ? await takeUnlocked(tx, moment, wanted) : undefined;
  if (quick !== undefined) return quick;
  // Every free bike is locked at this moment, perhaps for no more than a report: wait and see what is left.
  for (let round = 0; round < ROUNDS; round++) {
    const candidates = await findCandidates(tx, systemId, wanted, now);
    if (candidates.length === 0) break;
    await markLocks(tx);
    const locked = await lockBikes(tx, systemId, [...candidates, ...bikeOf(lapsed)]);
    const settled = await settleLapsed(tx, moment, locked, idOf(lapsed));
    const bike = locked.get(chooseBike(settled.bikes.values(), wanted)?.id ?? "");
    if (bike !== undefined) return { bike, settled };
    await releaseLocks(tx);
  }
  throw serviceError("no_bike_available");
}

async function takeUnlocked(tx: Transaction, { systemId }: Moment, wanted: WantedBike): Promise<Taken | undefined> {
  const id = await pickFreeBike(tx, systemId, wanted);
  const bike = id === undefined ? undefined : (await lockBikes(tx, systemId, [id])).get(id);
  return bike && { bike, settled: { expired: [], freed: [] } };
}

function stationIsOffline(): ServiceError {
  return serviceError("station_offline");
}

function bikeOf(lapsed: Lapsed): string[] {
  return lapsed === undefined ? [] : [lapsed.bike_id];
}

function idOf(lapsed: Lapsed): string[] {
  return lapsed === undefined ? [] : [lapsed.id];
}
