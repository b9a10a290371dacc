import type { ReservationRequest } from "@bikeshare/contract";
import { statusAt } from "@bikeshare/rules";
import type { FleetCommand } from "./command.ts";
import {
  findQuotaUse,
  findRentingStations,
  listReservationsOfRiders,
  type QuotaUse,
  type RentingStation,
} from "./create-reservation-queries.ts";
import { lockQuotas } from "./reservation-queries.ts";

/** A request for a bike, and whose it is. */
interface BikeRequest {
  readonly partnerId: string;
  readonly request: ReservationRequest;
}

/** What decides on requests for bikes, beside the bikes, which the command holds; as the requests before leave it. */
export interface ReservationFacts {
  /** Of the partners that are active. */
  readonly quotaOf: Map<string, QuotaUse>;
  /** By `riderKey`: those who have an active reservation. */
  readonly ridersWithBike: Set<string>;
  readonly stations: ReadonlyMap<string, RentingStation>;
}

/** Whom a request is for; undefined where it does not say. No id contains a NUL. */
export function riderKey({ partnerId, request }: BikeRequest): string | undefined {
  return request.rider_ref === undefined ? undefined : `${partnerId}\0${request.rider_ref}`;
}

/**
 * Locks the quotas of the requests' partners, so that each partner's requests count one at a time; the bikes that are named, those of
 * riders whose reservation is overdue, and free bikes of the stations that are named. Writes as expired what is overdue of
 * the reservations that hold those bikes.
 * @param waitFor more bikes to lock
 */
export async function lockReservationFacts(
  command: FleetCommand,
  requests: readonly BikeRequest[],
  waitFor: readonly string[],
): Promise<ReservationFacts> {
  const { tx, systemId, now } = command;
  const partnerIds = [...new Set(requests.map(({ partnerId }) => partnerId))].sort();
  const riders = requests.flatMap(({ partnerId, request: { rider_ref: riderRef } }) =>
    riderRef === undefined ? [] : [{ partner_id: partnerId, rider_ref: riderRef }],
  );
  command.locks("quotas");
  // In this order: what is read after the lock stays as it is.
  const [, quotaOf, ofRiders] = await Promise.all([
    lockQuotas(tx, systemId, partnerIds),
    findQuotaUse(tx, systemId, partnerIds, now),
    listReservationsOfRiders(tx, systemId, riders),
  ]);
  const isActive = (reservation: (typeof ofRiders)[number]) => statusAt(reservation, now) === "active";
  const ridersWithBike = new Set(ofRiders.filter(isActive).map((held) => `${held.partner_id}\0${held.rider_ref}`));
  const overdue = ofRiders.filter((reservation) => !isActive(reservation));
  const named = requests.flatMap(({ request }) => request.bike_id ?? []);
  await command.lockBikes([...named, ...waitFor, ...overdue.map(({ bike_id: bikeId }) => bikeId)]);
  const stationIds = requests.flatMap(({ request }) => request.station_id ?? []);
  const stationsOfBikes = [...command.bikes.values()].flatMap((bike) => bike.station_id ?? []);
  const [stations] = await Promise.all([
    findRentingStations(tx, systemId, [...stationIds, ...stationsOfBikes]),
    lockFreeBikes(command, requests),
  ]);
  const holding = [...command.bikes.values()].flatMap((bike) => bike.reservation_id ?? []);
  const ids = new Set([...holding, ...overdue.map(({ id }) => id)]);
  // Those that are not overdue stay as they are.
  await command.endReservations([...ids].map((id) => ({ id, status: "expired" })));
  return { quotaOf, ridersWithBike, stations };
}

/** Locks as many free bikes of each station and type as may be wanted there, the best first. */
async function lockFreeBikes(command: FleetCommand, requests: readonly BikeRequest[]): Promise<void> {
  // The bikes that are held already may be the best, and reserved by a request before.
  const bikesAt = new Map<string, number>();
  const count = (stationId: string) => bikesAt.set(stationId, (bikesAt.get(stationId) ?? 0) + 1);
  for (const { station_id: stationId } of command.bikes.values()) if (stationId !== null) count(stationId);
  for (const { request } of requests) if (request.station_id !== undefined) count(request.station_id);
  const wanted = requests.flatMap(({ request: { station_id: stationId, vehicle_type_id: typeId } }) =>
    stationId === undefined ? [] : [{ stationId, vehicleTypeId: typeId ?? null, limit: bikesAt.get(stationId) ?? 1 }],
  );
  const distinct = new Map(wanted.map((each) => [JSON.stringify([each.stationId, each.vehicleTypeId]), each]));
  if (distinct.size > 0) await command.lockFreeBikes([...distinct.values()]);
}
