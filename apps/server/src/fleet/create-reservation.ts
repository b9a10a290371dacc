import type { ReservationRequest } from "@bikeshare/contract";
import {
  checkRents,
  checkTakeable,
  chooseBike,
  expiryOf,
  reservationLimit,
  serviceError,
  statusAt,
  type WantedBike,
} from "@bikeshare/rules";
import type { CommandContext } from "../command-context.ts";
import type { BikeState } from "./bike.rules.ts";
import { type FleetCommand, runCommand } from "./command.ts";
import {
  countActiveReservations,
  findRentingStation,
  findReservationOfRider,
  listCandidateBikes,
  lockPartnerLimit,
} from "./create-reservation-queries.ts";
import type { ReservationOwner } from "./reservation-commands.ts";
import { type HeldBike, insertReservation } from "./reservation-queries.ts";

export interface CreateReservation extends ReservationOwner {
  readonly request: ReservationRequest;
}

/**
 * Reserves a bike of a station, or one bike, for a partner's rider. The bike, the counters of its station, the
 * reservation and its event are written together.
 * @returns the reservation's JSON
 * @throws ServiceError `invalid_parameter`, `not_found`, `station_offline`, `no_bike_available`, `bike_not_available`,
 *   `rider_has_active_reservation`, `too_many_reservations`; `unauthorized` when the partner is gone
 */
export async function createReservation(
  context: CommandContext,
  { systemId, partnerId, request }: CreateReservation,
): Promise<string> {
  const { rider_ref: riderRef, hold_minutes: holdMinutes } = request;
  const lockChosen = lockFor(request);
  return runCommand(context, systemId, async (command) => {
    const { tx, now, ids } = command;
    await refuseBeyondLimit(command, partnerId);
    const bike = await lockChosen(command, await findOverdueOfRider(command, partnerId, riderRef));
    const id = ids.next("reservation");
    const json = await insertReservation(tx, systemId, {
      id,
      partner_id: partnerId,
      station_id: bike.station_id,
      bike_id: bike.id,
      vehicle_type_id: bike.vehicle_type_id,
      rider_ref: riderRef ?? null,
      created_at: now,
      expires_at: expiryOf(now, holdMinutes),
    });
    if (json === undefined) throw serviceError("rider_has_active_reservation");
    command.changeBike(bike, { reservation_id: id });
    command.record({ name: "reservation.created", occurredAt: now, partnerId, data: json });
    return json;
  });
}

/** Locks the bike that is asked for. @param overdue the rider's reservation that expires on the way */
type LockChosen = (command: FleetCommand, overdue: HeldBike | undefined) => Promise<BikeState>;

function lockFor({ station_id, bike_id, vehicle_type_id }: ReservationRequest): LockChosen {
  const vehicleTypeId = vehicle_type_id ?? null;
  if (station_id !== undefined && bike_id === undefined) {
    return (command, overdue) => lockAtStation(command, { stationId: station_id, vehicleTypeId }, overdue);
  }
  if (bike_id !== undefined && station_id === undefined) {
    return (command, overdue) => lockNamed(command, bike_id, vehicleTypeId, overdue);
  }
  throw serviceError("invalid_parameter", "stationAndBike");
}

/** Refuses a partner that has as many bikes as it may have; locks it, so that its requests count one at a time. */
async function refuseBeyondLimit(command: FleetCommand, partnerId: string): Promise<void> {
  const { tx, systemId, now } = command;
  command.locks("partner");
  const partner = await lockPartnerLimit(tx, systemId, partnerId);
  if (partner === undefined) throw serviceError("unauthorized", "inactivePartner");
  const limit = reservationLimit(partner.max_reservations);
  if ((await countActiveReservations(tx, systemId, partnerId, now)) < limit) return;
  throw serviceError("too_many_reservations", "limit", { limit });
}

/** The rider's reservation that has passed its end and that nobody has written as expired. */
async function findOverdueOfRider(
  { tx, systemId, now }: FleetCommand,
  partnerId: string,
  riderRef: string | undefined,
): Promise<HeldBike | undefined> {
  const held = riderRef === undefined ? undefined : await findReservationOfRider(tx, systemId, partnerId, riderRef);
  if (held !== undefined && statusAt(held, now) === "active") throw serviceError("rider_has_active_reservation");
  return held;
}

/** Locks bikes, and that of the rider's overdue reservation; expires what is overdue of the reservations that hold them. */
async function lockAndExpire(
  command: FleetCommand,
  bikeIds: readonly string[],
  overdue: HeldBike | undefined,
): Promise<void> {
  const bikes = await command.lockBikes(overdue === undefined ? bikeIds : [...bikeIds, overdue.bike_id]);
  const ids = new Set([...bikes.values()].flatMap((bike) => bike.reservation_id ?? []));
  if (overdue !== undefined) ids.add(overdue.id);
  await command.endReservations([...ids].map((id) => ({ id, status: "expired" })));
}

async function lockNamed(
  command: FleetCommand,
  bikeId: string,
  vehicleTypeId: string | null,
  overdue: HeldBike | undefined,
): Promise<BikeState> {
  await lockAndExpire(command, [bikeId], overdue);
  const bike = command.bikes.get(bikeId);
  if (bike === undefined) throw serviceError("not_found", "bike");
  checkTakeable(bike, vehicleTypeId);
  // A station that is not known cannot forbid it.
  const { tx, systemId } = command;
  const station = bike.station_id === null ? undefined : await findRentingStation(tx, systemId, bike.station_id);
  if (station !== undefined) checkRents(station);
  return bike;
}

/**
 * How often the free bikes of a station may all be gone by the time that they are locked, before the request is refused
 * while there are others. Each time others got them, so somebody was served; more attempts keep a connection waiting at a
 * station that many want a bike of.
 */
const MAX_ATTEMPTS = 5;

async function lockAtStation(
  command: FleetCommand,
  wanted: WantedBike,
  overdue: HeldBike | undefined,
): Promise<BikeState> {
  const { tx, systemId, now } = command;
  const station = await findRentingStation(tx, systemId, wanted.stationId);
  if (station === undefined) throw serviceError("not_found", "station");
  checkRents(station);
  // The bike of an overdue reservation would be a second lock, in the order of ids: then all are locked at once, below.
  const free = overdue === undefined ? await command.lockFreeBike(wanted) : undefined;
  if (free !== undefined) return free;
  // Every free bike is locked at the moment, perhaps only for a report: wait, and see what is left.
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const candidates = await listCandidateBikes(tx, systemId, wanted, now);
    if (candidates.length === 0) break;
    const chosen = await command.attempt(async () => {
      await lockAndExpire(command, candidates, overdue);
      return chooseBike(command.bikes.values(), wanted);
    });
    if (chosen !== undefined) return chosen;
  }
  throw serviceError("no_bike_available");
}
