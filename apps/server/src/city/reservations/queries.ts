import type { Reservation } from "@bikeshare/contract";
import type { FleetReservation } from "@bikeshare/contract/console";
import { listFilters, type PageRequest } from "@bikeshare/rules";
import type { Queryable, QueryRunner } from "../../storage/db/database.ts";
import type { ReadPool } from "../../storage/db/read-pool.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { type ChangePage, type ChangeRange, listChanges } from "../../storage/lists/change-queries.ts";
import { conditionsOf } from "../../storage/lists/conditions.ts";
import { type FilterableList, listFiltered } from "../../storage/lists/filtered-queries.ts";
import type { PageRows, TimePosition } from "../../storage/lists/page.ts";
import type { ReadContext } from "../../storage/lists/read-context.ts";
import { inMilliseconds, rememberableList, rememberedColumns } from "../../storage/lists/remembered-queries.ts";

/*
 * The statements that read reservations: a partner's own, and those of all partners for the operator. An active reservation
 * past its `expires_at` is overdue. Readers see it as expired, although a sweeper stores that only later.
 */

/** The filters of a partner's request for reservations, as the contract describes them. */
export interface ReservationFilters {
  readonly status?: Reservation["status"] | undefined;
  readonly rider_ref?: string | undefined;
  readonly bike_id?: string | undefined;
  readonly ride_id?: string | undefined;
  /** RFC 3339. */
  readonly updated_since?: string | undefined;
}

/** The partner whose reservations are read, and the instant as of which. */
export interface ReservationScope {
  readonly systemId: string;
  readonly partnerId: string;
  readonly now: Date;
}

const overdue = "(status = 'active' and expires_at <= $3::timestamptz)";

/** The JSON as of the instant $3: the same before and after the sweeper has written that a reservation expired. */
const json = `reservation_json(id, case when ${overdue} then 'expired' else status end, station_id, bike_id,
  vehicle_type_id, rider_ref, created_at, expires_at, cancelled_at, cancel_reason, ride_id, ride_cancelled_at,
  case when ${overdue} then expires_at else updated_at end)`;

const byId = statement(
  "reservations.byId",
  `select ${json} as json from reservations where system_id = $1 and partner_id = $2 and id = $4`,
);

const statusConditions: Readonly<Record<Reservation["status"], string>> = {
  active: `status = 'active' and not ${overdue}`,
  fulfilled: "status = 'fulfilled'",
  cancelled: "status = 'cancelled'",
  expired: `(status = 'expired' or ${overdue})`,
};

/**
 * Returns the condition that a reservation changed since an instant. An expired reservation changed when it expired, even
 * while the sweeper has not written that.
 */
function updatedSince(since: string): string {
  return `(updated_at >= ${since}::timestamptz or (${overdue} and expires_at >= ${since}::timestamptz))`;
}

/** Returns the JSON of one of a partner's reservations; undefined: the partner has none with this id. */
export async function findReservation(
  readPool: ReadPool,
  scope: ReservationScope,
  id: string,
): Promise<string | undefined> {
  return (await readPool.read<{ json: string }>(byId, [scope.systemId, scope.partnerId, scope.now, id]))[0]?.json;
}

const list: FilterableList<TimePosition> = {
  table: "reservations",
  order: ["created_at", "id"],
  direction: "desc",
  json,
  placeholders: ({ at, id }, bind) => [`${bind(at)}::timestamptz`, bind(id)],
};

/**
 * The columns of a partner's reservations that are kept in memory. `ride_id` is not among them: a ride has one reservation,
 * which an index finds.
 */
export const rememberedReservations = rememberableList({
  table: "reservations",
  // PostgreSQL must be told the type of a value that a statement does not use.
  ofOwner: "system_id = $1 and partner_id = $2 and $3::timestamptz is not null",
  ownerParameters: 3,
  direction: "desc",
  time: "created_at",
  columns: {
    // A filter without a field gets no column.
    ...rememberedColumns({ ...listFilters.reservations, ride_id: ["equals"] }),
    // Only for active reservations, because only these end by the clock.
    expires_at: { kind: "number", sql: inMilliseconds("case when status = 'active' then expires_at end") },
  },
  json,
});

/**
 * Returns a page of a partner's reservations, counted by an index. With 180,000 reservations the first page takes 20 ms, so
 * the reservations of a partner with many are kept in memory instead (`rememberedReservations`).
 */
export function listReservationPage(
  db: QueryRunner,
  scope: ReservationScope,
  { status, updated_since: since, ride_id: rideId, ...filters }: ReservationFilters,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  const values: unknown[] = [scope.systemId, scope.partnerId, scope.now];
  const bind = (value: unknown) => `$${values.push(value)}`;
  // PostgreSQL must be told the type of a value that a statement does not use.
  const conditions = ["system_id = $1", "partner_id = $2", "$3::timestamptz is not null"];
  // Both filters depend on the clock.
  if (status !== undefined) conditions.push(statusConditions[status]);
  if (since !== undefined) conditions.push(updatedSince(bind(since)));
  conditions.push(...conditionsOf(listFilters.reservations, filters).map((condition) => condition(bind)));
  // Without statistics of the table PostgreSQL would walk a partner's list rather than find the ride by its index.
  // `offset 0` keeps it from merging the subquery into the list's statement.
  const table =
    rideId === undefined
      ? list.table
      : `(select * from reservations where system_id = $1 and ride_id = ${bind(rideId)} offset 0) as reservations`;
  return listFiltered(db, { ...list, table }, { branches: [conditions.join(" and ")], values }, request);
}

/** Returns a page of the changes of a partner's reservations, in the order of the changes. */
export function listReservationChangePage(
  context: ReadContext,
  { systemId, partnerId, now }: ReservationScope,
  { status, ...filters }: ReservationFilters,
  range: ChangeRange,
): Promise<ChangePage> {
  const ofPartner = "system_id = $1 and partner_id = $2";
  const byStatus = status === undefined ? [] : [() => statusConditions[status]];
  const source = {
    name: "reservations",
    rows: [
      { table: "reservations", json, condition: `${ofPartner} and $3::timestamptz is not null` },
      // Nothing is written when a reservation expires. Until the sweeper writes it, each page of changes shows it.
      { table: "reservations", json, condition: `${ofPartner} and ${overdue}`, isByClock: true },
    ],
    values: [systemId, partnerId, now],
    filters: [...byStatus, ...conditionsOf(listFilters.reservations, filters)],
  };
  return listChanges(context, { systemId, partnerId }, source, range);
}

const limitOf = statement(
  "reservations.limitOf",
  "select max_reservations from partners where system_id = $1 and id = $2",
);

// An overdue reservation does not count, even before the sweeper has expired it.
const countActive = statement(
  "reservations.countActive",
  `select count(*)::int as n from reservations
   where system_id = $1 and partner_id = $2 and status = 'active' and expires_at > $3::timestamptz`,
);

const largestHolders = statement(
  "reservations.largestHolders",
  `select holding.partner_id, holding.active, partners.max_reservations
   from (select partner_id, count(*)::int as active from reservations
         where system_id = $1 and status = 'active' and expires_at > $2::timestamptz
         group by partner_id order by active desc, partner_id limit $3) holding
   join partners on partners.system_id = $1 and partners.id = holding.partner_id
   order by holding.active desc, holding.partner_id`,
);

/** A partner's own limit of active reservations; null: the default applies. */
type PartnerLimit = Pick<Tables["partners"], "max_reservations">;

/** Returns a partner's limit of active reservations, null for the default; undefined when there is no such partner. */
export async function findPartnerLimit(
  db: QueryRunner,
  systemId: string,
  partnerId: string,
): Promise<PartnerLimit | undefined> {
  return (await db.query<PartnerLimit>(limitOf, [systemId, partnerId]))[0];
}

/** Returns how many reservations of a partner are active at an instant. */
export async function countActiveReservations(
  db: QueryRunner,
  systemId: string,
  partnerId: string,
  at: Date,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countActive, [systemId, partnerId, at])).n;
}

/** A partner, how many bikes it holds, and how many it may hold; null for the default. */
interface HolderRow extends PartnerLimit {
  readonly partner_id: string;
  readonly active: number;
}

/** Returns the partners with most active reservations at an instant, the most first. */
export function listLargestHolders(
  db: QueryRunner,
  systemId: string,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<HolderRow[]> {
  return db.query<HolderRow>(largestHolders, [systemId, at, limit]);
}

// The statements of the operator's list begin here. $1: the system, $2: now, $3: the value that selects reservations,
// $4 and $5: the position (time and id) after which the page begins, $6: the number of rows.

/** Rows after the position in the list, which is sorted by time, the newest first. */
const before = "(created_at, id) < ($4::timestamptz, $5) order by created_at desc, id desc limit $6";

/**
 * The state at the instant $2, the same before and after the sweeper has expired the reservation. It lacks `rider_ref`,
 * because that is the partner's own reference to its rider.
 */
const select = (rows: string) => `
  select reservation_json(r.id, case when overdue then 'expired' else r.status end, r.station_id, r.bike_id,
      r.vehicle_type_id, null, r.created_at, r.expires_at, r.cancelled_at, r.cancel_reason, r.ride_id, r.ride_cancelled_at,
      case when overdue then r.expires_at else r.updated_at end)::jsonb - 'rider_ref'
    || jsonb_build_object('partner_id', r.partner_id, 'partner_name', partners.name) as reservation
  from (select *, (status = 'active' and expires_at <= $2::timestamptz) as overdue from (${rows}) as rows) as r
  join partners on partners.system_id = $1 and partners.id = r.partner_id
  order by r.created_at desc, r.id desc limit $6`;

const where = (condition: string) => `select * from reservations where system_id = $1 and ${condition} and ${before}`;

const statements = {
  id: statement("reservations.ofAnyPartner", select(where("id = $3"))),
  bike_id: statement("reservations.ofBike", select(where("bike_id = $3"))),
  ride_id: statement("reservations.ofRide", select(where("ride_id = $3"))),
  partner_id: statement("reservations.ofPartner", select(where("partner_id = $3"))),
  // Few reservations are active, because each partner holds few bikes. $3 is `active`; the second condition is that of
  // the indexes of active reservations.
  status: statement("reservations.active", select(where("status = $3 and status = 'active' and expires_at > $2"))),
  // Reads the newest reservations of each partner, because the index by partner has that order. $3 is empty.
  all: statement(
    "reservations.ofAllPartners",
    select(`select newest.* from partners as p cross join lateral (
        select * from reservations where system_id = $1 and partner_id = p.id and ${before}) as newest
      where p.system_id = $1 and $3 = ''`),
  ),
};

/** Selects reservations of any partner. */
export interface ReservationsBy {
  readonly systemId: string;
  /** The id of the reservation, bike, ride or partner, or the status `active`; empty for all. */
  readonly value: string;
  readonly now: Date;
  /** The reservation after which the page begins. Left out: it begins with the newest. */
  readonly after?: TimePosition;
  readonly limit: number;
}

/**
 * Returns the reservation with an id, or a page of reservations, the newest first: those of a bike, a ride or a partner, the
 * active ones, or all.
 */
export async function listReservationsBy(
  db: Queryable,
  by: keyof typeof statements,
  { systemId, value, now, after, limit }: ReservationsBy,
): Promise<FleetReservation[]> {
  // Every row is before the time `infinity`.
  const position = [after?.at ?? "infinity", after?.id ?? ""];
  const values = [systemId, now, value, ...position, limit];
  const rows = await db.query<{ reservation: FleetReservation }>(statements[by], values);
  return rows.map(({ reservation }) => reservation);
}
