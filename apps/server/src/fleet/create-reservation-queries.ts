import type { WantedBike } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

type Row = Tables["reservations"];

// The lock queues a partner's own requests for bikes, and nobody else's. It lets through whoever only refers to the
// partner, as an issued key does.
const lockPartner = statement(
  "reservations.lockPartner",
  `select max_reservations from partners
   where system_id = $1 and id = $2 and suspended_at is null and removed_at is null for no key update`,
);

// Of a reservation that has passed its end it does not matter whether that has been written.
const countHeld = statement(
  "reservations.countHeld",
  `select count(*)::int as n from reservations
   where system_id = $1 and partner_id = $2 and status = 'active' and expires_at > $3::timestamptz`,
);

const ofRider = statement(
  "reservations.ofRider",
  `select id, bike_id, status, expires_at from reservations
   where system_id = $1 and partner_id = $2 and rider_ref = $3 and status = 'active'`,
);

const station = statement(
  "reservations.station",
  "select status, is_renting from stations where system_id = $1 and id = $2",
);

// A reserved bike counts when its reservation has passed its end and nobody has written that yet.
const candidates = statement(
  "reservations.candidates",
  `select b.id from bikes b
   where b.system_id = $1 and b.station_id = $2 and ($3::text is null or b.vehicle_type_id = $3) and b.ride_id is null
     and ((b.vehicle_state = 'available' and b.reservation_id is null)
       or (b.vehicle_state = 'reserved' and exists (select from reservations r
             where r.system_id = $1 and r.id = b.reservation_id and r.status = 'active' and r.expires_at <= $4::timestamptz)))`,
);

/**
 * Locks a partner, so that until the transaction ends nobody else makes a reservation of it.
 * @returns how many active reservations it may have, null for the default; undefined when there is no such partner, or it
 *   is suspended
 */
export async function lockPartnerLimit(
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<Pick<Tables["partners"], "max_reservations"> | undefined> {
  return (await tx.query<Pick<Tables["partners"], "max_reservations">>(lockPartner, [systemId, partnerId]))[0];
}

/** How many reservations of a partner are active at a time. */
export async function countActiveReservations(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  at: Date,
): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(countHeld, [systemId, partnerId, at])).n;
}

/** The reservation of a rider that nobody has ended. It may have passed its end. */
export async function findReservationOfRider(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  riderRef: string,
): Promise<Pick<Row, "id" | "bike_id" | "status" | "expires_at"> | undefined> {
  const values = [systemId, partnerId, riderRef];
  return (await tx.query<Pick<Row, "id" | "bike_id" | "status" | "expires_at">>(ofRider, values))[0];
}

type RentingStation = Pick<Tables["stations"], "status" | "is_renting">;

/** What decides whether a station rents out; undefined when there is none. */
export async function findRentingStation(
  tx: Transaction,
  systemId: string,
  id: string,
): Promise<RentingStation | undefined> {
  return (await tx.query<RentingStation>(station, [systemId, id]))[0];
}

/** Bikes that are free, or whose reservation has passed its end, also those that others have locked. */
export async function listCandidateBikes(
  tx: Transaction,
  systemId: string,
  wanted: WantedBike,
  now: Date,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(candidates, [systemId, wanted.stationId, wanted.vehicleTypeId, now]);
  return rows.map((row) => row.id);
}
