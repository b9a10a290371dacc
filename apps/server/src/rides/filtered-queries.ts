import { listFilters, type PageRequest } from "@bikeshare/rules";
import type { QueryRunner } from "../db/database.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { conditionsOf } from "../lists/conditions.ts";
import { type Bind, countRows, type Filter, type FilterableList, listFiltered } from "../lists/filtered-queries.ts";
import { type PageRows, startOf, type TimePosition } from "../lists/page.ts";
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
 * A page of the rides that pass filters, where it costs little more than one of the whole list: an index leads to its rows, and
 * their number is made of kept ones or not asked for. Undefined where that is not so, or the number remembered is outdated.
 */
export async function listQuickRideRows(
  readPool: ReadPool,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
): Promise<PageRows | undefined> {
  const start = startOf(request);
  const asked = describe(systemId, filters);
  if (asked.filter.name === undefined || ("skip" in start && start.skip > 0)) return undefined;
  const db = { query: <Row>(...[prepared, values = []]: QueryArguments) => readPool.read<Row>(prepared, values) };
  if (request.kind === "cursor") return listFiltered(db, list, asked.filter, request);
  if (isStretchOfTime(asked.names)) return listFiltered(db, list, withTotal(asked, countBetween(filters)), request);
  const known = pastCounts.get(systemId, asked.key);
  if (known?.isRecent !== true) return undefined;
  return listWithPast(db, asked, known, request, pastCounts);
}

/**
 * A page of the rides that pass filters. Its exact length is not counted one by one where that can be helped: a stretch of
 * time is counted from the kept numbers of months, days and hours; other filters from what is remembered of past rides.
 */
export async function listFilteredRideRows(
  db: QueryRunner,
  systemId: string,
  filters: RideFilters,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
): Promise<PageRows> {
  const asked = describe(systemId, filters);
  if (request.kind === "cursor" || filters.updated_since !== undefined) {
    return listFiltered(db, list, asked.filter, request);
  }
  if (isStretchOfTime(asked.names)) return listFiltered(db, list, withTotal(asked, countBetween(filters)), request);
  const remembered = pastCounts.get(systemId, asked.key);
  const known = remembered ?? (await countPast(db, systemId, filters));
  if (remembered === undefined) pastCounts.keep(systemId, asked.key, known);
  const rows = await listWithPast(db, asked, known, request, pastCounts);
  return rows ?? listFiltered(db, list, { ...asked.filter, name: undefined }, request);
}

type QueryArguments = Parameters<QueryRunner["query"]>;

/** What a list of rides is asked for. */
interface AskedRides {
  readonly systemId: string;
  readonly names: readonly (keyof RideFilters)[];
  readonly filter: Filter;
  /** What its number is remembered by. */
  readonly key: string;
}

function describe(systemId: string, filters: RideFilters): AskedRides {
  const values: unknown[] = [systemId];
  const { branches, overlapping } = alternativesOf(filters, (value) => `$${values.push(value)}`);
  const names = namesOf(filters);
  const name = statementName(names);
  return {
    systemId,
    names,
    filter: { branches, values, name, indexed: name === undefined ? undefined : overlapping },
    key: JSON.stringify(names.map((each) => [each, filters[each]])),
  };
}

function withTotal({ filter }: AskedRides, sql: string, values = filter.values): Filter {
  return { ...filter, total: { sql, values } };
}

/** A page with its number made of what is remembered and what came since; undefined when past rides have changed meanwhile. */
async function listWithPast(
  db: QueryRunner,
  asked: AskedRides,
  known: PastCount,
  request: PageRequest<TimePosition>,
  pastCounts: PastCounts,
): Promise<PageRows | undefined> {
  const values = [...asked.filter.values];
  const sql = countWithPast(asked.filter.branches, known, (value) => `$${values.push(value)}`);
  const rows = await listFiltered(db, list, withTotal(asked, sql, values), request);
  if (rows.total !== null) return rows;
  pastCounts.forget(asked.systemId, asked.key);
  return undefined;
}

function namesOf(filters: RideFilters): (keyof RideFilters)[] {
  const names = Object.keys(listFilters.rides) as (keyof RideFilters)[]; // the contract's, which are those of the type
  return names.filter((name) => filters[name] !== undefined).sort();
}

const TIMES: readonly string[] = ["started_after", "started_before"];

function isStretchOfTime(names: readonly string[]): boolean {
  return names.every((name) => TIMES.includes(name));
}

/**
 * A name where the statement is to be prepared once, because one index holds the rides of any such filter in the list's order:
 * those of a bike or a station or of all, in a stretch of time. With other filters the plan depends on their values.
 */
function statementName(names: readonly string[]): string | undefined {
  const [owner, ...others] = names.filter((name) => !TIMES.includes(name));
  if (others.length > 0 || !(owner === undefined || owner === "bike_id" || owner === "station_id")) return undefined;
  return `rides.by.${names.join("+")}`;
}

/**
 * Conditions as alternatives. A station's rides are those that started there and those that ended there: each alternative
 * has an index in the list's order, the two joined by `or` have none. A ride that did both counts once: `branches` has it
 * as one that started there. `overlapping` has it twice, so that neither alternative steps over rows.
 */
function alternativesOf(
  { station_id: stationId, ...filters }: RideFilters,
  bind: Bind,
): { readonly branches: string[]; readonly overlapping: string[] } {
  const conditions = conditionsOf(listFilters.rides, filters).map((condition) => condition(bind));
  const common = ["system_id = $1", ...conditions].join(" and ");
  if (stationId === undefined) return { branches: [common], overlapping: [common] };
  const station = bind(stationId);
  const started = `${common} and start_station_id = ${station}`;
  const ended = `${common} and end_station_id = ${station}`;
  return {
    branches: [started, `${ended} and start_station_id is distinct from ${station}`],
    overlapping: [started, ended],
  };
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

/** SQL: what is remembered of past rides and those since; null where past rides have come or gone meanwhile. */
function countWithPast(branches: readonly string[], known: PastCount, bind: Bind): string {
  const upto = `${bind(known.upto)}::timestamptz`;
  const since = countRows(
    list,
    branches.map((branch) => `${branch} and started_at >= ${upto}`),
  );
  return `case when ${pastChanges} = ${bind(known.pastChanges)}::bigint then ${bind(known.n)}::bigint + ${since} end`;
}

/**
 * Counts the past rides that pass filters: those before the third day before now, and before every ride that has not ended.
 * Whatever comes, goes or is corrected among them counts as a change of past rides, with a day to spare for transactions
 * that are open.
 */
async function countPast(db: QueryRunner, systemId: string, filters: RideFilters): Promise<PastCount> {
  const values: unknown[] = [systemId];
  const { branches } = alternativesOf(filters, (value) => `$${values.push(value)}`);
  const past = branches.map((branch) => `${branch} and started_at < (select upto from past)`);
  const text = `
    with past as materialized (
      select least(date_trunc('day', now() - interval '3 days'),
        (select started_at from rides where system_id = $1 and status = 'started' order by started_at limit 1)) as upto)
    select (select upto from past)::text as upto, (select upto from past) > now() - interval '7 days' as "isRecent",
      ${countRows(list, past)} as n, ${pastChanges} as "pastChanges"`;
  return oneRow(await db.query<PastCount>(statement("", text), values));
}
