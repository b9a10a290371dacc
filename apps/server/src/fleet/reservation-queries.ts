import type { WantedBike } from "@bikeshare/rules";
import type { Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

type Row = Tables["reservations"];

const json = `reservation_json(r.id, r.status, r.station_id, r.bike_id, r.vehicle_type_id, r.rider_ref, r.created_at,
  r.expires_at, r.cancelled_at, r.cancel_reason, r.ride_id, r.updated_at) as json`;

const station = statement(
  "reservations.station",
  "select status, is_renting from stations where system_id = $1 and id = $2",
);

const ofRider = statement(
  "reservations.ofRider",
  `select id, bike_id, status, expires_at from reservations
   where system_id = $1 and partner_id = $2 and rider_ref = $3 and status = 'active'`,
);

// Never waits, so that it may be run whatever else is locked. Bikes that others have locked are passed over.
const pick = statement(
  "reservations.pick",
  `select id from bikes
   where system_id = $1 and station_id = $2 and ($3::text is null or vehicle_type_id = $3)
     and vehicle_state = 'available' and ride_id is null and reservation_id is null
   order by current_range_meters desc nulls last, id limit 1 for update skip locked`,
);

// A reserved bike counts when its reservation has lapsed and nobody has written that yet.
const candidates = statement(
  "reservations.candidates",
  `select b.id from bikes b
   where b.system_id = $1 and b.station_id = $2 and ($3::text is null or b.vehicle_type_id = $3) and b.ride_id is null
     and ((b.vehicle_state = 'available' and b.reservation_id is null)
       or (b.vehicle_state = 'reserved' and exists (select from reservations r
             where r.system_id = $1 and r.id = b.reservation_id and r.status = 'active' and r.expires_at <= $4::timestamptz)))`,
);

const insert = statement(
  "reservations.insert",
  `insert into reservations as r (system_id, id, partner_id, status, station_id, bike_id, vehicle_type_id, rider_ref,
     created_at, expires_at, updated_at)
   values ($1, $2, $3, 'active', $4, $5, $6, $7, $8::timestamptz, $9::timestamptz, $8::timestamptz)
   on conflict (system_id, partner_id, rider_ref) where status = 'active' and rider_ref is not null do nothing
   returning ${json}`,
);

const find = statement(
  "reservations.find",
  "select bike_id from reservations where system_id = $1 and partner_id = $2 and id = $3",
);

const lock = statement(
  "reservations.lock",
  `select r.id, r.partner_id, r.bike_id, r.status, r.created_at, r.expires_at, ${json}
   from reservations r where r.system_id = $1 and r.id = any($2::text[]) order by r.id for update`,
);

// Whatever it was to become: a reservation that has lapsed is expired.
const end = statement(
  "reservations.end",
  `update reservations r set
     status = case when lapsed then 'expired' else e.status end,
     ride_id = case when not lapsed then e.ride_id end,
     cancel_reason = case when not lapsed then e.cancel_reason end,
     cancelled_at = case when not lapsed and e.status = 'cancelled' then $2::timestamptz end,
     updated_at = case when lapsed then r.expires_at else $2::timestamptz end
   from (select e.*, held.expires_at <= $2::timestamptz as lapsed
         from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as e (id, status, ride_id, cancel_reason)
         join reservations held on held.system_id = $1 and held.id = e.id) as e
   -- As it is now: one whose bike a feed has deleted may have been extended meanwhile.
   where r.system_id = $1 and r.id = e.id and r.status = 'active'
     and ((lapsed and r.expires_at <= $2::timestamptz) or (not lapsed and e.status <> 'expired'))
   returning r.id, r.partner_id, r.bike_id, r.status, r.expires_at, ${json}`,
);

const extend = statement(
  "reservations.extend",
  `update reservations r set expires_at = $3::timestamptz, updated_at = $4::timestamptz
   where r.system_id = $1 and r.id = $2 and r.status = 'active'
   returning ${json}`,
);

// Bikes that another process has locked are left for the next sweep, so that sweepers never wait for one another. A
// feed may have deleted the bike: then nothing is there to lock, and the update itself lets only one sweeper through.
const due = statement(
  "reservations.due",
  `with due as materialized (
     select id, bike_id from reservations
     where system_id = $1 and status = 'active' and expires_at <= $2::timestamptz order by expires_at, id limit $3),
   locked as materialized (
     select id from bikes where system_id = $1 and id = any(array(select bike_id from due)) for update skip locked)
   select id, bike_id from due
   where bike_id in (select id from locked)
     or not exists (select from bikes where system_id = $1 and bikes.id = due.bike_id)`,
);

/** Whether a station rents out; undefined when there is none. */
export async function findStation(
  tx: Transaction,
  systemId: string,
  id: string,
): Promise<Pick<Tables["stations"], "status" | "is_renting"> | undefined> {
  return (await tx.query<Pick<Tables["stations"], "status" | "is_renting">>(station, [systemId, id]))[0];
}

/** The reservation that is kept as the rider's active one. It may have lapsed. */
export async function findOfRider(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  riderRef: string,
): Promise<Pick<Row, "id" | "bike_id" | "status" | "expires_at"> | undefined> {
  return (
    await tx.query<Pick<Row, "id" | "bike_id" | "status" | "expires_at">>(ofRider, [systemId, partnerId, riderRef])
  )[0];
}

/** Locks the best free bike of those that nobody has locked, and gives its id. */
export async function pickFreeBike(tx: Transaction, systemId: string, wanted: WantedBike): Promise<string | undefined> {
  return (await tx.query<{ id: string }>(pick, [systemId, wanted.stationId, wanted.vehicleTypeId]))[0]?.id;
}

/** Bikes that are free, or whose reservation has lapsed, also those that others have locked. Not locked. */
export async function findCandidates(
  tx: Transaction,
  systemId: string,
  wanted: WantedBike,
  now: Date,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(candidates, [systemId, wanted.stationId, wanted.vehicleTypeId, now]);
  return rows.map((row) => row.id);
}

/** Remembers where the transaction stands, so that `releaseLocks` can give back what is locked from here on. */
export async function markLocks(tx: Transaction): Promise<void> {
  await tx.run("savepoint before_locks");
}

/** Undoes what the transaction did since `markLocks`: its row locks too are given back. */
export async function releaseLocks(tx: Transaction): Promise<void> {
  await tx.run("rollback to savepoint before_locks");
}

export type NewReservation = Pick<
  Row,
  "id" | "partner_id" | "station_id" | "bike_id" | "vehicle_type_id" | "rider_ref" | "created_at" | "expires_at"
>;

/** Makes an active reservation; gives its JSON, or undefined when the rider has an active one. */
export async function insertReservation(
  tx: Transaction,
  systemId: string,
  row: NewReservation,
): Promise<string | undefined> {
  const rows = await tx.query<{ json: string }>(insert, [
    systemId,
    row.id,
    row.partner_id,
    row.station_id,
    row.bike_id,
    row.vehicle_type_id,
    row.rider_ref,
    row.created_at,
    row.expires_at,
  ]);
  return rows[0]?.json;
}

/** The bike of a partner's reservation, which never changes; undefined when the partner has no such reservation. */
export async function findBikeOf(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  id: string,
): Promise<string | undefined> {
  return (await tx.query<Pick<Row, "bike_id">>(find, [systemId, partnerId, id]))[0]?.bike_id;
}

/** A reservation as commands see it, as it is kept: an active one may have lapsed. */
export interface LockedReservation extends Pick<
  Row,
  "id" | "partner_id" | "bike_id" | "status" | "created_at" | "expires_at"
> {
  readonly json: string;
}

/** Locks reservations, in the order of their ids, and gives them by id. Their bikes are to be locked before. */
export async function lockRows(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, LockedReservation>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<LockedReservation>(lock, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** How an active reservation is to end. */
export type Ending = { readonly id: string } & (
  | { readonly status: "fulfilled"; readonly rideId: string }
  | { readonly status: "cancelled"; readonly reason: NonNullable<Row["cancel_reason"]> }
  | { readonly status: "expired" }
);

/** A reservation that has just ended. */
export interface EndedReservation extends Pick<Row, "id" | "partner_id" | "bike_id" | "expires_at"> {
  readonly status: Ending["status"];
  readonly json: string;
}

/**
 * Ends those of the reservations that are active, each as said; those that have lapsed by `now` become expired
 * instead, and only they become so. Their bikes are to be locked before: that is what keeps two from ending one.
 */
export function endRows(
  tx: Transaction,
  systemId: string,
  now: Date,
  endings: readonly Ending[],
): Promise<EndedReservation[]> {
  if (endings.length === 0) return Promise.resolve([]);
  return tx.query<EndedReservation>(end, [
    systemId,
    now,
    endings.map((ending) => ending.id),
    endings.map((ending) => ending.status),
    endings.map((ending) => (ending.status === "fulfilled" ? ending.rideId : null)),
    endings.map((ending) => (ending.status === "cancelled" ? ending.reason : null)),
  ]);
}

/** Has an active reservation, which is locked, end later; gives its JSON. */
export async function extendRow(
  tx: Transaction,
  systemId: string,
  id: string,
  { expiresAt, now }: { readonly expiresAt: Date; readonly now: Date },
): Promise<string> {
  return oneRow(await tx.query<{ json: string }>(extend, [systemId, id, expiresAt, now])).json;
}

/** Lapsed reservations that nobody has written as expired, the oldest first, their bikes locked. */
export function lockDue(
  tx: Transaction,
  systemId: string,
  now: Date,
  limit: number,
): Promise<Pick<Row, "id" | "bike_id">[]> {
  return tx.query<Pick<Row, "id" | "bike_id">>(due, [systemId, now, limit]);
}

// The lock queues a partner's own requests for bikes, and nobody else's. It lets through whoever only refers to the
// partner, as an issued key does.
const lockPartner = statement(
  "reservations.lockPartner",
  `select max_reservations from partners
   where system_id = $1 and id = $2 and suspended_at is null and removed_at is null for no key update`,
);

// Of what has lapsed it does not matter whether that has been written.
const countActive = statement(
  "reservations.countHeld",
  `select count(*)::int as n from reservations
   where system_id = $1 and partner_id = $2 and status = 'active' and expires_at > $3::timestamptz`,
);

const active = statement(
  "reservations.active",
  `select id, bike_id from reservations where system_id = $1 and partner_id = $2 and status = 'active' order by id`,
);

type PartnerLimit = Pick<Tables["partners"], "max_reservations">;

/**
 * Locks a partner, before anything else is locked: until the transaction ends, nobody else makes a reservation of its.
 * @returns how many active reservations it may have, null for the default; undefined when there is no such partner, or it
 *   is suspended
 */
export async function lockPartnerLimit(
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<PartnerLimit | undefined> {
  return (await tx.query<PartnerLimit>(lockPartner, [systemId, partnerId]))[0];
}

/** A partner's reservations that are written as active, lapsed ones too. */
export function listActive(
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<Pick<Tables["reservations"], "id" | "bike_id">[]> {
  return tx.query<Pick<Tables["reservations"], "id" | "bike_id">>(active, [systemId, partnerId]);
}

/** How many reservations of a partner are active at an instant. */
export async function countActiveReservations(
  tx: Transaction,
  systemId: string,
  partnerId: string,
  at: Date,
): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(countActive, [systemId, partnerId, at])).n;
}
