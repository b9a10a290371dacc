import { listFilters, type PageRequest } from "@bikeshare/rules";
import type { Queryable } from "../db/database.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import { conditionsOf } from "../lists/conditions.ts";
import { type Bind, type FilterableList, listFiltered } from "../lists/filtered-queries.ts";
import { type FetchSize, fetchSize, joinRows, type PageRows, startOf, type TimePosition } from "../lists/page.ts";

export interface RideFilters {
  readonly status?: string | undefined;
  readonly bike_id?: string | undefined;
  readonly station_id?: string | undefined;
  readonly started_after?: string | undefined;
  readonly started_before?: string | undefined;
  readonly updated_since?: string | undefined;
}

const order = "order by started_at desc, id desc";
const total = `(select coalesce(sum(n), 0)::bigint from list_counts where system_id = $1 and list = 'rides') as total`;
const changes = `(select coalesce(sum(changes), 0)::bigint from list_counts where system_id = $1 and list = 'rides') as changes`;

const first = (size: FetchSize) =>
  statement(
    `rides.first.${size}`,
    `select (${joinRows(`select json from rides where system_id = $1 ${order} limit ${size}`)}) as rows, ${total}`,
  );

const after = (size: FetchSize) =>
  statement(
    `rides.after.${size}`,
    joinRows(
      `select json from rides where system_id = $1 and (started_at, id) < ($2::timestamptz, $3) ${order} limit ${size}`,
    ),
  );

/** The youngest month, day or hour that, with the younger ones before it, holds more than `skip` rides; what is then left to skip. */
const bucket = (period: "month" | "day" | "hour", skip: string, within: string) => `
  select starts_at, ${skip} - (upto - n) as skip
  from (select starts_at, sum(n)::bigint as n, (sum(sum(n)) over (order by starts_at desc))::bigint as upto
        from ride_counts where system_id = $1 and period = '${period}' ${within} group by starts_at) as buckets
  where upto > ${skip} order by starts_at desc limit 1`;

const inside = (outer: "month" | "day") =>
  `and starts_at >= (select starts_at from ${outer}) and starts_at < (select starts_at + interval '1 ${outer}' from ${outer})`;

/*
 * The page that begins after $2 rides, at any depth for about the same cost: the kept numbers of rides lead to the
 * month, the day and the hour that holds its first ride; only within that hour are rides stepped over, in the index
 * alone. Each step is a scalar sub-select, which PostgreSQL runs once and uses to bound the next index scan; written
 * as joins, the steps take 400 times as long.
 */
const from = (size: FetchSize) =>
  statement(
    `rides.from.${size}`,
    `with
     month as materialized (${bucket("month", "$2::bigint", "")}),
     day as materialized (${bucket("day", "(select skip from month)", inside("month"))}),
     hour as materialized (${bucket("hour", "(select skip from day)", inside("day"))}),
     head as materialized (
       select started_at, id from rides
       where system_id = $1 and started_at < (select starts_at + interval '1 hour' from hour)
       ${order} offset (select skip from hour) limit 1)
     select (${joinRows(
       `select json from rides
        where system_id = $1 and (started_at, id) <= ((select started_at from head), (select id from head))
        ${order} limit ${size}`,
     )}) as rows, ${total}`,
  );

/** The same page, where it is known already in which hour it begins. */
const fromHour = (size: FetchSize) =>
  statement(
    `rides.fromHour.${size}`,
    `with head as materialized (
       select started_at, id from rides
       where system_id = $1 and started_at < to_timestamp($2::bigint) ${order} offset $3::bigint limit 1)
     select (${joinRows(
       `select json from rides
        where system_id = $1 and (started_at, id) <= ((select started_at from head), (select id from head))
        ${order} limit ${size}`,
     )}) as rows, ${total}, ${changes}`,
  );

// As float8, because pg gives an array of bigint as texts.
const hours = statement(
  "rides.hours",
  `select ${changes}, array_agg(starts_at order by starts_at desc) as starts_at, array_agg(n order by starts_at desc) as n
   from (select extract(epoch from starts_at)::float8 as starts_at, sum(n)::float8 as n
         from ride_counts where system_id = $1 and period = 'hour' group by ride_counts.starts_at) as hours`,
);

const byId = statement("rides.byId", "select json from rides where system_id = $1 and id = $2");

/** A page of all rides. */
export async function listRideRows(
  readPool: ReadPool,
  systemId: string,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  const start = startOf(request);
  const size = fetchSize(request.limit);
  if ("after" in start) {
    return oneRow(await readPool.read<PageRows>(after(size), [systemId, start.after.at, start.after.id]));
  }
  if (start.skip === 0) return oneRow(await readPool.read<PageRows>(first(size), [systemId]));
  return oneRow(await readPool.read<PageRows>(from(size), [systemId, start.skip]));
}

/** What follows `skip` rides of those that started before an instant (seconds since 1970), and how often the list had changed. */
export async function listRideRowsFromHour(
  readPool: ReadPool,
  systemId: string,
  before: number,
  skip: number,
  limit: number,
): Promise<PageRows & { readonly changes: number }> {
  return oneRow(
    await readPool.read<PageRows & { readonly changes: number }>(fromHour(fetchSize(limit)), [systemId, before, skip]),
  );
}

/** The number of rides that started in each hour (seconds since 1970), youngest first, and how often the list had changed. */
export async function countRidesByHour(db: Queryable, systemId: string): Promise<RideHours> {
  const {
    changes: version,
    starts_at,
    n,
  } = oneRow(await db.query<{ changes: number; starts_at: number[] | null; n: number[] | null }>(hours, [systemId]));
  return { version, startsAt: starts_at ?? [], n: n ?? [] };
}

/** One entry an hour in each array. */
export interface RideHours {
  readonly version: number;
  readonly startsAt: readonly number[];
  readonly n: readonly number[];
}

/** One ride's JSON. */
export async function findRide(readPool: ReadPool, systemId: string, id: string): Promise<string | undefined> {
  return (await readPool.read<Pick<Tables["rides"], "json">>(byId, [systemId, id]))[0]?.json;
}

const list: FilterableList<TimePosition> = {
  table: "rides",
  order: ["started_at", "id"],
  direction: "desc",
  json: "json",
  placeholders: ({ at, id }, bind) => [`${bind(at)}::timestamptz`, bind(id)],
};

/** A page of the rides that pass filters. */
export function listFilteredRideRows(
  db: Queryable,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
): Promise<PageRows> {
  const values: unknown[] = [systemId];
  const branches = filterBranches(filters, (value) => `$${values.push(value)}`);
  return listFiltered(db, list, { branches, values }, request);
}

/**
 * Conditions, as alternatives that no ride fulfils twice. A station's rides are those that started there and those
 * that only ended there: each alternative has an index in the list's order, the two joined by `or` have none.
 */
function filterBranches({ station_id: stationId, ...filters }: RideFilters, bind: Bind): string[] {
  const conditions = conditionsOf(listFilters.rides, filters).map((condition) => condition(bind));
  const common = ["system_id = $1", ...conditions].join(" and ");
  if (stationId === undefined) return [common];
  const station = bind(stationId);
  return [
    `${common} and start_station_id = ${station}`,
    `${common} and end_station_id = ${station} and start_station_id is distinct from ${station}`,
  ];
}
