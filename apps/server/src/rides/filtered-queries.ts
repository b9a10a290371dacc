import { listFilters, type PageRequest } from "@bikeshare/rules";
import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { conditionsOf } from "../lists/conditions.ts";
import { type Bind, countRows, type FilterableList, listFiltered } from "../lists/filtered-queries.ts";
import type { PageRows, TimePosition } from "../lists/page.ts";
import type { PastCount, PastCounts } from "./past-counts.ts";

export interface RideFilters {
  readonly status?: string | undefined;
  readonly bike_id?: string | undefined;
  readonly station_id?: string | undefined;
  readonly started_after?: string | undefined;
  readonly started_before?: string | undefined;
  readonly updated_since?: string | undefined;
}

const list: FilterableList<TimePosition> = {
  table: "rides",
  order: ["started_at", "id"],
  direction: "desc",
  json: "json",
  placeholders: ({ at, id }, bind) => [`${bind(at)}::timestamptz`, bind(id)],
};

/**
 * A page of the rides that pass filters. Its exact length is not counted one by one where that can be helped: a stretch of
 * time is counted from the kept numbers of months, days and hours; other filters from what is remembered of past rides.
 */
export async function listFilteredRideRows(
  db: Queryable,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
): Promise<PageRows> {
  const values: unknown[] = [systemId];
  const bind: Bind = (value) => `$${values.push(value)}`;
  const branches = filterBranches(filters, bind);
  const given: Readonly<Record<string, string | undefined>> = { ...filters };
  const names = Object.keys(given)
    .filter((name) => given[name] !== undefined)
    .sort();
  const filter = { branches, values: [...values], name: statementName(names) };
  if (request.kind === "cursor" || names.includes("updated_since")) return listFiltered(db, list, filter, request);
  if (isStretchOfTime(names)) {
    return listFiltered(db, list, { ...filter, total: { sql: countBetween(filters), values } }, request);
  }
  const key = JSON.stringify(names.map((name) => [name, given[name]]));
  const remembered = pastCounts.get(systemId, key);
  const known = remembered ?? (await countPast(db, systemId, filters));
  if (remembered === undefined) pastCounts.keep(systemId, key, known);
  const total = { sql: countWithPast(branches, known, bind), values, more: `${pastChanges} as "pastChanges"` };
  const rows: PageRows & { pastChanges?: number } = await listFiltered(db, list, { ...filter, total }, request);
  if (rows.pastChanges !== known.pastChanges) pastCounts.forget(systemId, key);
  return rows;
}

const TIMES = ["started_after", "started_before"];
/** Filters by which one plan suits every value. */
const EVEN = [["bike_id"], ["station_id"], ["started_after"], ["started_before"], TIMES].map((names) =>
  names.join("+"),
);

function isStretchOfTime(names: readonly string[]): boolean {
  return names.every((name) => TIMES.includes(name));
}

/** A name where the statement is to be prepared once; with other filters the plan depends on their values. */
function statementName(names: readonly string[]): string | undefined {
  const joined = names.join("+");
  return EVEN.includes(joined) ? `rides.by.${joined}` : undefined;
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

/** SQL: rides that started in a stretch of time, on the placeholders of its conditions, which come first. */
function countBetween(filters: RideFilters): string {
  const given = Object.keys(listFilters.rides).filter((name) => Reflect.get(filters, name) !== undefined);
  const countUpto = (name: string) => countBefore(`$${given.indexOf(name) + 2}::timestamptz`);
  const all = "(select coalesce(sum(n), 0) from list_counts where system_id = $1 and list = 'rides')";
  const upto = filters.started_before === undefined ? all : countUpto("started_before");
  return filters.started_after === undefined
    ? `(${upto})::bigint`
    : `greatest(0, ${upto} - ${countUpto("started_after")})::bigint`;
}

/** SQL: rides that started before an instant, from whole months, then days, then hours, then the index. */
function countBefore(at: string): string {
  const kept = (period: string, from: string | undefined) => `
    (select coalesce(sum(n), 0) from ride_counts where system_id = $1 and period = '${period}'
       and starts_at < date_trunc('${period}', ${at})${from === undefined ? "" : ` and starts_at >= date_trunc('${from}', ${at})`})`;
  const inHour = `
    (select count(*) from rides where system_id = $1 and started_at >= date_trunc('hour', ${at}) and started_at < ${at})`;
  return `(${[kept("month", undefined), kept("day", "month"), kept("hour", "day"), inHour].join(" + ")})`;
}

const pastChanges =
  "(select coalesce(sum(past_changes), 0)::bigint from list_counts where system_id = $1 and list = 'rides')";

/** SQL: what is remembered of past rides and those since; all of them where past rides have come or gone meanwhile. */
function countWithPast(branches: readonly string[], known: PastCount, bind: Bind): string {
  const upto = `${bind(known.upto)}::timestamptz`;
  const since = countRows(
    list,
    branches.map((branch) => `${branch} and started_at >= ${upto}`),
  );
  return `case when ${pastChanges} = ${bind(known.pastChanges)}::bigint
    then ${bind(known.n)}::bigint + ${since} else ${countRows(list, branches)} end`;
}

/**
 * Counts the past rides that pass filters: those before the third day before now, and before every ride that has not ended.
 * Whatever comes, goes or is corrected among them counts as a change of past rides, with a day to spare for transactions
 * that are open.
 */
async function countPast(db: Queryable, systemId: string, filters: RideFilters): Promise<PastCount> {
  const values: unknown[] = [systemId];
  const branches = filterBranches(filters, (value) => `$${values.push(value)}`);
  const past = branches.map((branch) => `${branch} and started_at < (select upto from past)`);
  const text = `
    with past as materialized (
      select least(date_trunc('day', now() - interval '3 days'),
        (select started_at from rides where system_id = $1 and status = 'started' order by started_at limit 1)) as upto)
    select (select upto from past)::text as upto, ${countRows(list, past)} as n, ${pastChanges} as "pastChanges"`;
  return oneRow(await db.query<PastCount>(statement("", text), values));
}
