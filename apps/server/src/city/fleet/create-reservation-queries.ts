import type { WantedBike } from "@bikeshare/rules";
import { arrayOf, columnsOf } from "../../storage/db/columns.ts";
import type { Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

type Row = Tables["reservations"];

// Of a reservation that has passed its end it does not matter whether that has been written. Partner by partner (lateral),
// each by its index.
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

// A reserved bike counts when its reservation has passed its end and nobody has written that yet.
const candidates = statement(
  "reservations.candidates",
  `select b.id from bikes b
   where b.system_id = $1 and b.station_id = $2 and ($3::text is null or b.vehicle_type_id = $3) and b.ride_id is null
     and ((b.vehicle_state = 'available' and b.reservation_id is null)
       or (b.vehicle_state = 'reserved' and exists (select from reservations r
             where r.system_id = $1 and r.id = b.reservation_id and r.status = 'active' and r.expires_at <= $4::timestamptz)))`,
);

/** What a partner has of what it may have. */
export interface QuotaUse {
  /** How many active reservations it may have; null: the default. */
  readonly max_reservations: number | null;
  /** How many it has. */
  readonly active: number;
}

/** The use of partners' quotas at a time, by the partners' ids; without partners that do not exist or are suspended. */
export async function findQuotaUse(
  tx: Transaction,
  systemId: string,
  partnerIds: readonly string[],
  at: Date,
): Promise<Map<string, QuotaUse>> {
  const rows = await tx.query<QuotaUse & { readonly id: string }>(use, [systemId, partnerIds, at]);
  return new Map(rows.map((row) => [row.id, row]));
}

type ReservationOfRider = Pick<Row, "id" | "partner_id" | "rider_ref" | "bike_id" | "status" | "expires_at">;

/** The reservations of riders that nobody has ended. They may have passed their end. */
export async function listReservationsOfRiders(
  tx: Transaction,
  systemId: string,
  of: readonly { readonly partner_id: string; readonly rider_ref: string }[],
): Promise<ReservationOfRider[]> {
  return of.length === 0 ? [] : tx.query<ReservationOfRider>(ofRiders, [systemId, ...riders.arrays(of)]);
}

/** What decides whether a station rents out. */
export type RentingStation = Pick<Tables["stations"], "status" | "is_renting">;

/** Stations, by id. */
export async function findRentingStations(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RentingStation>> {
  if (ids.length === 0) return new Map();
  const rows = await tx.query<RentingStation & { readonly id: string }>(stations, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
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
