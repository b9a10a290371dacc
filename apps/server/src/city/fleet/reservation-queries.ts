import type { WantedBike } from "@bikeshare/rules";
import { arrayOf, columnsOf, columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { CHANGED, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/*
 * The statements with which commands create and end reservations. A reservation that is stored as active past its
 * `expires_at` is overdue: it counts as expired, and a sweeper stores that later. `CHANGED` gives a row a new position in
 * the order of changes, which clients follow. `rowsOfSystem` joins rows from parameters with the system, so that a
 * distributed database knows their node.
 */

type Row = Tables["reservations"];

const json = `reservation_json(r.id, r.status, r.station_id, r.bike_id, r.vehicle_type_id, r.rider_ref, r.created_at,
  r.expires_at, r.cancelled_at, r.cancel_reason, r.ride_id, r.ride_cancelled_at, r.updated_at) as json`;

// The requests of one partner for reservations run one after the other, and not those of different partners.
const lockQuota = statement(
  "reservations.lockQuotas",
  `select partner_id from reservation_quotas where system_id = $1 and partner_id = any($2::text[])
   order by partner_id for update`,
);

const listUnended = statement(
  "reservations.listUnended",
  `select id, bike_id from reservations where system_id = $1 and partner_id = $2 and status = 'active' order by id`,
);

/** The columns that differ between new reservations. */
const made = columnsOfTable("reservations").without(
  "system_id",
  "status",
  "updated_at",
  "cancelled_at",
  "cancel_reason",
  "ride_id",
  "ride_cancelled_at",
  "change_position",
);

const insert = statement(
  "reservations.insert",
  `insert into reservations as r (system_id, status, updated_at, ${made.list()})
   select placed.system_id, 'active', created_at, ${made.list()} from ${rowsOfSystem(made.unnest(2, "w"))}
   on conflict (system_id, partner_id, rider_ref) where status = 'active' and rider_ref is not null do nothing
   returning r.id, ${json}`,
);

/** Ids of reservations, each with the partner that claims to own it. */
const owned = columnsOf<{ partner_id: string | null; id: string | null }>({
  partner_id: arrayOf("text"),
  id: arrayOf("text"),
});

// The lateral join looks up each reservation by the primary key, whatever the planner's statistics say.
const bikesOf = statement(
  "reservations.bikesOf",
  `select held.* from ${owned.unnest(2, "owned")}
   cross join lateral (
     select id, bike_id, partner_id from reservations where system_id = $1 and id = owned.id limit 1) as held
   where held.partner_id = owned.partner_id`,
);

const lock = statement(
  "reservations.lock",
  `select r.id, r.partner_id, r.bike_id, r.status, r.created_at, r.expires_at, ${json}
   from reservations r where r.system_id = $1 and r.id = any($2::text[]) order by r.id for update`,
);

const outcomeColumns = columnsOf<{ id: string; status: string; ride_id: string | null; cancel_reason: string | null }>({
  id: arrayOf("text"),
  status: arrayOf("text"),
  ride_id: arrayOf("text"),
  cancel_reason: arrayOf("text"),
});

// A reservation past its end expires, whatever outcome was requested.
const end = statement(
  "reservations.end",
  `update reservations r set ${CHANGED},
     status = case when overdue then 'expired' else e.status end,
     ride_id = case when not overdue then e.ride_id end,
     cancel_reason = case when not overdue then e.cancel_reason end,
     cancelled_at = case when not overdue and e.status = 'cancelled' then $2::timestamptz end,
     updated_at = case when overdue then r.expires_at else $2::timestamptz end
   from (select e.*, held.expires_at <= $2::timestamptz as overdue
         from ${outcomeColumns.unnest(3, "e")}
         join reservations held on held.system_id = $1 and held.id = e.id) as e
   -- Checks the present row again. The lock of the bike keeps others from changing the reservation, but a feed may have
   -- deleted the bike. Then the reservation may have been extended meanwhile.
   where r.system_id = $1 and r.id = e.id and r.status = 'active'
     and ((overdue and r.expires_at <= $2::timestamptz) or (not overdue and e.status <> 'expired'))
   returning r.id, r.partner_id, r.bike_id, r.status, r.created_at, r.expires_at, ${json}`,
);

const extend = statement(
  "reservations.extend",
  `update reservations r set ${CHANGED}, expires_at = $3::timestamptz, ${updatedAt("r", "$4")}
   where r.system_id = $1 and r.id = $2 and r.status = 'active'
   returning ${json}`,
);

const stationColumns = columnsOf<{ id: string | null; station_id: string | null }>({
  id: arrayOf("text"),
  station_id: arrayOf("text"),
});

const move = statement(
  "reservations.move",
  `update reservations r set ${CHANGED}, station_id = moved.station_id, ${updatedAt("r", "$2")}
   from ${stationColumns.unnest(3, "moved")}
   where r.system_id = $1 and r.id = moved.id and r.status = 'active' and r.expires_at > $2::timestamptz`,
);

const cancelRide = statement(
  "reservations.cancelRide",
  `update reservations r set ${CHANGED}, ride_cancelled_at = ride.cancelled_at, ${updatedAt("r", "$2")}
   from unnest($3::text[], $4::timestamptz[]) as ride (reservation_id, cancelled_at)
   where r.system_id = $1 and r.id = ride.reservation_id and r.status = 'fulfilled'`,
);

const listOverdue = statement(
  "reservations.listOverdue",
  `select id from reservations
   where system_id = $1 and status = 'active' and expires_at <= $2::timestamptz and id <> all($4::text[])
   order by expires_at, id limit $3`,
);

// Bikes that another process has locked are left for the next sweep, so that sweepers never wait for one another. A
// feed may have deleted the bike. Then there is no row to lock, and the later update lets only one sweeper expire the
// reservation.
const claimOverdue = statement(
  "reservations.claimOverdue",
  `with due as materialized (
     select id, bike_id from reservations
     where system_id = $1 and status = 'active' and expires_at <= $2::timestamptz and id = any($3::text[])),
   locked as materialized (
     select id from bikes where system_id = $1 and id = any(array(select bike_id from due)) for update skip locked)
   select id, bike_id from due
   where bike_id in (select id from locked)
     or not exists (select from bikes where system_id = $1 and bikes.id = due.bike_id)`,
);

/** Locks partners' quotas in the order of their ids: only this transaction can create their reservations until it ends. */
export async function lockQuotas(tx: Transaction, systemId: string, partnerIds: readonly string[]): Promise<void> {
  await tx.query(lockQuota, [systemId, partnerIds]);
}

/** The id of a reservation, and its bike. */
export type HeldBike = Pick<Row, "id" | "bike_id">;

/** Returns a partner's reservations that have not been ended, overdue ones included. */
export function listUnendedReservations(tx: Transaction, systemId: string, partnerId: string): Promise<HeldBike[]> {
  return tx.query<HeldBike>(listUnended, [systemId, partnerId]);
}

/** The values of a new reservation. */
export type NewReservation = Parameters<typeof made.arrays>[0][number];

/** Inserts active reservations, except for riders who have one. @returns the JSON of the inserted reservations, by id */
export async function insertReservations(
  tx: Transaction,
  systemId: string,
  reservations: readonly NewReservation[],
): Promise<ReadonlyMap<string, string>> {
  if (reservations.length === 0) return new Map();
  const rows = await tx.query<{ id: string; json: string }>(insert, [systemId, ...made.arrays(reservations)]);
  return new Map(rows.map(({ id, json: text }) => [id, text]));
}

/** Returns the reservations that belong to the partner named with them, and their bikes. The bike never changes. */
export function listBikesOfReservations(
  tx: Transaction,
  systemId: string,
  of: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<HeldBike[]> {
  const rows = of.map(({ partnerId, id }) => ({ partner_id: partnerId, id }));
  return tx.query<HeldBike>(bikesOf, [systemId, ...owned.arrays(rows)]);
}

/** A reservation as commands read it. Its `status` may still be `active` after its end. */
export interface LockedReservation extends Pick<
  Row,
  "id" | "partner_id" | "bike_id" | "status" | "created_at" | "expires_at"
> {
  readonly json: string;
}

/** Locks reservations in the order of their ids. */
export function lockReservations(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<LockedReservation[]> {
  return tx.query<LockedReservation>(lock, [systemId, ids]);
}

/** The outcome of an active reservation. `at`: when the ride starts that fulfils it. */
export type ReservationOutcome = { readonly id: string } & (
  | { readonly status: "fulfilled"; readonly rideId: string; readonly at: Date }
  | { readonly status: "cancelled"; readonly reason: NonNullable<Row["cancel_reason"]> }
  | { readonly status: "expired" }
);

/** A reservation that has just ended. */
export interface ClosedReservation extends Pick<Row, "id" | "partner_id" | "bike_id" | "created_at" | "expires_at"> {
  readonly status: ReservationOutcome["status"];
  readonly json: string;
}

/**
 * Ends active reservations, each with its outcome. A reservation past its end expires instead. A reservation before its end
 * ignores the outcome `expired`.
 */
export function updateClosedReservations(
  tx: Transaction,
  systemId: string,
  now: Date,
  outcomes: readonly ReservationOutcome[],
): Promise<ClosedReservation[]> {
  const rows = outcomes.map((outcome) => ({
    id: outcome.id,
    status: outcome.status,
    ride_id: outcome.status === "fulfilled" ? outcome.rideId : null,
    cancel_reason: outcome.status === "cancelled" ? outcome.reason : null,
  }));
  return tx.query<ClosedReservation>(end, [systemId, now, ...outcomeColumns.arrays(rows)]);
}

/** Extends a locked, active reservation. @returns its JSON */
export async function updateReservationEnd(
  tx: Transaction,
  systemId: string,
  id: string,
  { expiresAt, now }: { readonly expiresAt: Date; readonly now: Date },
): Promise<string> {
  return oneRow(await tx.query<{ json: string }>(extend, [systemId, id, expiresAt, now])).json;
}

/** Sets the stations of active reservations to the present stations of their bikes. */
export function updateReservationStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  moved: Parameters<typeof stationColumns.arrays>[0],
): void {
  tx.send(move, [systemId, now, ...stationColumns.arrays(moved)]);
}

/** Marks the rides of fulfilled reservations as cancelled. @param cancelled the time of each, by reservation id */
export function updateCancelledRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  cancelled: ReadonlyMap<string, Date>,
): void {
  if (cancelled.size === 0) return;
  tx.send(cancelRide, [systemId, now, [...cancelled.keys()], [...cancelled.values()]]);
}

/** Returns the ids of overdue reservations, oldest first. @param apart ids to leave out */
export async function listOverdueReservations(
  db: Queryable,
  systemId: string,
  { now, limit, apart }: { readonly now: Date; readonly limit: number; readonly apart: readonly string[] },
): Promise<string[]> {
  return (await db.query<Pick<Row, "id">>(listOverdue, [systemId, now, limit, apart])).map(({ id }) => id);
}

/** Locks the bikes of overdue reservations. @returns these reservations, without those whose bike others have locked */
export function claimOverdueReservations(
  tx: Transaction,
  systemId: string,
  now: Date,
  ids: readonly string[],
): Promise<HeldBike[]> {
  return tx.query<HeldBike>(claimOverdue, [systemId, now, ids]);
}

// The rest of this file is what `create-reservation.ts` reads to decide on requests.

// An overdue reservation does not count, whether or not the sweeper has expired it. The lateral join lets each partner use
// the index.
const use = statement(
  "reservations.quotaUse",
  `select partner.id, partner.max_reservations, held.n as active from partners as partner
   cross join lateral (
     select count(*)::int as n from reservations
     where system_id = $1 and partner_id = partner.id and status = 'active' and expires_at > $3::timestamptz) as held
   where partner.system_id = $1 and partner.id = any($2::text[])
     and partner.suspended_at is null and partner.removed_at is null`,
);

const riders = columnsOf<{ partner_id: string | null; rider_ref: string | null }>({
  partner_id: arrayOf("text"),
  rider_ref: arrayOf("text"),
});

const ofRiders = statement(
  "reservations.ofRiders",
  `select held.* from ${riders.unnest(2, "rider")}
   cross join lateral (
     select id, partner_id, rider_ref, bike_id, status, expires_at from reservations
     where system_id = $1 and partner_id = rider.partner_id and rider_ref = rider.rider_ref and status = 'active'
     limit 1) as held`,
);

const stations = statement(
  "reservations.stations",
  "select id, status, is_renting from stations where system_id = $1 and id = any($2::text[])",
);

// A reserved bike counts when its reservation is overdue and has not been expired yet.
const candidates = statement(
  "reservations.candidates",
  `select b.id from bikes b
   where b.system_id = $1 and b.station_id = $2 and ($3::text is null or b.vehicle_type_id = $3) and b.ride_id is null
     and ((b.vehicle_state = 'available' and b.reservation_id is null)
       or (b.vehicle_state = 'reserved' and exists (select from reservations r
             where r.system_id = $1 and r.id = b.reservation_id and r.status = 'active' and r.expires_at <= $4::timestamptz)))`,
);

/** A partner's use of its quota. */
export interface QuotaUse {
  /** The maximum number of active reservations; null: the default. */
  readonly max_reservations: number | null;
  /** The number of active reservations. */
  readonly active: number;
}

/** Returns the use of quotas at a time, by partner id. Leaves out unknown, suspended and removed partners. */
export async function findQuotaUse(
  tx: Transaction,
  systemId: string,
  partnerIds: readonly string[],
  at: Date,
): Promise<Map<string, QuotaUse>> {
  const rows = await tx.query<QuotaUse & { readonly id: string }>(use, [systemId, partnerIds, at]);
  return new Map(rows.map((row) => [row.id, row]));
}

/** A rider's reservation that has not been ended. */
type ReservationOfRider = Pick<Row, "id" | "partner_id" | "bike_id" | "status" | "expires_at"> & {
  readonly rider_ref: string;
};

/** Returns the reservations of riders that have not been ended, overdue ones included. */
export async function listReservationsOfRiders(
  tx: Transaction,
  systemId: string,
  of: readonly { readonly partner_id: string; readonly rider_ref: string }[],
): Promise<ReservationOfRider[]> {
  return of.length === 0 ? [] : tx.query<ReservationOfRider>(ofRiders, [systemId, ...riders.arrays(of)]);
}

/** The columns that decide whether a station rents out. */
export type RentingStation = Pick<Tables["stations"], "status" | "is_renting">;

/** Finds stations. @returns them by id */
export async function findRentingStations(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RentingStation>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<RentingStation & { readonly id: string }>(stations, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}

/**
 * Returns the ids of the bikes that fit `wanted` and are free, or whose reservation is overdue. Locks no rows, and also
 * returns bikes whose rows other transactions have locked.
 */
export async function listCandidateBikes(
  tx: Transaction,
  systemId: string,
  wanted: WantedBike,
  now: Date,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(candidates, [systemId, wanted.stationId, wanted.vehicleTypeId, now]);
  return rows.map((row) => row.id);
}
