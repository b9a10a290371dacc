import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/* Statements of the request log (`request_log`) and of the usage of API keys (`key_usage_minutes`, `key_usage_days`). */

const allColumns = columnsOfTable("request_log").without("system_id");
/** A logged request, with the stored details of a rejected one. */
export type WholeRequestRow = RowOf<typeof allColumns>;

// Lists omit the columns that may be long.
const logColumns = columnsOfTable("request_log").without("system_id", "message", "target", "body", "body_bytes");
/** A request as a list shows it. */
export type RequestRow = RowOf<typeof logColumns>;

const insertLog = statement(
  "requests.insert",
  `insert into request_log (system_id, ${allColumns.list()})
   select $1, ${allColumns.list("r")} from ${allColumns.unnest(2, "r")} on conflict do nothing`,
);

/** Writes requests of a system. */
export function insertRequests(tx: Transaction, systemId: string, rows: readonly WholeRequestRow[]): void {
  tx.send(insertLog, [systemId, ...allColumns.arrays(rows)]);
}

const minuteColumns = columnsOfTable("key_usage_minutes").without("system_id");
/** A key's usage in a minute, or an increment of it. */
export type MinuteUsage = RowOf<typeof minuteColumns>;

const addMinutes = statement(
  "requests.addMinutes",
  `insert into key_usage_minutes as kept (system_id, ${minuteColumns.list()})
   select $1, ${minuteColumns.list("r")} from ${minuteColumns.unnest(2, "r")} order by counted_on, key_id, minute
   on conflict (system_id, counted_on, key_id, minute) do update set
     requests = kept.requests + excluded.requests, client_errors = kept.client_errors + excluded.client_errors,
     server_errors = kept.server_errors + excluded.server_errors,
     rate_limited = kept.rate_limited + excluded.rate_limited, unlogged = kept.unlogged + excluded.unlogged`,
);

/**
 * Adds to the usage of keys by minute. Rows are locked in the order of the primary key, so that processes cannot deadlock.
 */
export function updateMinuteUsage(tx: Transaction, systemId: string, rows: readonly MinuteUsage[]): void {
  tx.send(addMinutes, [systemId, ...minuteColumns.arrays(rows)]);
}

const dayColumns = columnsOfTable("key_usage_days").without("system_id");
/** A key's usage of a route on a day, or an increment of it. */
export type DayUsage = RowOf<typeof dayColumns>;

const addDays = statement(
  "requests.addDays",
  `insert into key_usage_days as kept (system_id, ${dayColumns.list()})
   select $1, ${dayColumns.list("r")} from ${dayColumns.unnest(2, "r")} order by key_id, day, route
   on conflict (system_id, key_id, day, route) do update set
     requests = kept.requests + excluded.requests, client_errors = kept.client_errors + excluded.client_errors,
     server_errors = kept.server_errors + excluded.server_errors,
     rate_limited = kept.rate_limited + excluded.rate_limited, total_ms = kept.total_ms + excluded.total_ms`,
);

/** Adds to the usage of keys by day. Rows are locked in the order of the primary key here, too. */
export function updateDayUsage(tx: Transaction, systemId: string, rows: readonly DayUsage[]): void {
  tx.send(addDays, [systemId, ...dayColumns.arrays(rows)]);
}

const deleteDays = statement(
  "requests.deleteDays",
  `with past as materialized (
     select ctid from key_usage_days where system_id = $1 and day < $2::date limit $3 for update skip locked),
   gone as (delete from key_usage_days where system_id = $1 and ctid = any(array(select ctid from past)) returning 1)
   select count(*) as n from gone`,
);

/** Deletes up to `limit` rows of days before a day. @returns how many */
export async function deletePastUsage(db: Queryable, systemId: string, before: string, limit: number): Promise<number> {
  return oneRow(await db.query<{ n: number }>(deleteDays, [systemId, before, limit])).n;
}

/** The position of a request in the log, newest first. */
export interface LogPosition {
  readonly day: string;
  readonly id: string;
}

/** Filters of requests. Null and undefined match everything. */
export interface RequestFilters {
  /** Undefined: of the whole system, operator keys included. */
  readonly partnerId: string | undefined;
  /** Undefined: of all keys. */
  readonly keyId: string | undefined;
  /** Whether only errors can match, so that successes need not be read. */
  readonly errorsOnly: boolean;
  readonly statusFrom: number;
  readonly statusTo: number;
  readonly error: string | null;
  readonly method: string | null;
  readonly route: string | null;
  readonly since: Date;
  readonly until: Date;
}

/** The result of reading a part of the log: the requests that match. */
export interface ScannedRequests {
  readonly matches: RequestRow[];
  /** The position of the last row that was read, matching or not; null: none was read. */
  readonly last: (LogPosition & { readonly at: string }) | null;
  readonly scanned: number;
}

/** Whose requests are read: those of the whole system, of a partner, of a key, or of a key that must be the partner's. */
type Owner = "system" | "partner" | "key" | "partner_key";

/** Returns the kind of owner that a partner and a key select; null: any. */
function ownerOf(partnerId: string | null, keyId: string | null): Owner {
  if (partnerId === null) return keyId === null ? "system" : "key";
  return keyId === null ? "partner" : "partner_key";
}

// Whatever the filters, the statement reads a limited number of rows ($9). The caller continues from the last row that was
// read. With `errorsOnly`, successes do not count towards the limit. The join with `always` gives one row even if nothing
// matches. Each kind of owner has its own statement, so that an index leads to the owner's rows in their order, and no
// filter can make it read a day of somebody else's requests. `is null` on a parameter that is always null there names
// its type, which PostgreSQL must know.
function scanStatement(by: Owner, errorsOnly: boolean): Statement {
  const isOfPartner = by === "partner" || by === "partner_key";
  const isOfKey = by === "key" || by === "partner_key";
  const owner = isOfPartner ? "and partner_id = $2" : "and $2::text is null";
  const key = isOfKey ? "and key_id = $3" : "and $3::text is null";
  return statement(
    `requests.scan.${by}${errorsOnly ? ".errors" : ""}`,
    `with scanned as materialized (
       select ${logColumns.list()} from request_log
       where system_id = $1 ${owner} ${key} ${errorsOnly ? "and status >= 400" : ""}
         and logged_on between $4::date and $5::date and (logged_on, id) < ($5::date, $6) and at >= $7 and at < $8
       order by logged_on desc, id desc limit $9),
     matched as (
       select * from scanned
       where status between $10 and $11 and ($12::text is null or error = $12) and ($13::text is null or method = $13)
         and ($14::text is null or route = $14)
       order by logged_on desc, id desc limit $15)
     select (select count(*) from scanned) as scanned,
       (select json_build_object('day', logged_on, 'id', id, 'at', at) from scanned order by logged_on, id limit 1) as last,
       matched.*
     from (select 1) as always left join matched on true
     order by matched.logged_on desc, matched.id desc`,
  );
}

const owners: readonly Owner[] = ["system", "partner", "key", "partner_key"];
const scans = new Map(
  owners.flatMap((by) => [false, true].map((errorsOnly) => [`${by} ${errorsOnly}`, scanStatement(by, errorsOnly)])),
);

/**
 * Reads up to `scanLimit` requests before a position, the newest first.
 * @returns up to `limit` of these requests that match
 */
export async function listRequests(
  db: Queryable,
  systemId: string,
  filters: RequestFilters,
  before: LogPosition,
  { scanLimit, limit }: { readonly scanLimit: number; readonly limit: number },
): Promise<ScannedRequests> {
  const { partnerId, keyId, errorsOnly, statusFrom, statusTo, error, method, route, since, until } = filters;
  const scan = scans.get(`${ownerOf(partnerId ?? null, keyId ?? null)} ${errorsOnly}`);
  // Only for the type checker: `scans` has every combination.
  if (scan === undefined) throw new Error("there is a statement for every owner");
  const owner = [systemId, partnerId ?? null, keyId ?? null];
  const range = [since.toISOString().slice(0, 10), before.day, before.id, since, until, scanLimit];
  const matching = [statusFrom, statusTo, error, method, route, limit];
  const rows = await db.query<ScannedRow>(scan, [...owner, ...range, ...matching]);
  const { scanned, last } = oneRow(rows.slice(0, 1));
  const matches = rows.flatMap(({ scanned: _scanned, last: _last, ...row }) => (row.id === null ? [] : [row]));
  return { scanned, last, matches };
}

/** A match; when nothing matches, one row whose `id` is null. */
type ScannedRow = Pick<ScannedRequests, "scanned" | "last"> & (RequestRow | { readonly id: null });

const find = statement(
  "requests.find",
  `select ${allColumns.list()} from request_log where system_id = $1 and logged_on = any($2::date[]) and id = $3`,
);

/** Returns the request with a Request-Id. @param days the days on which the request may have arrived */
export async function findRequest(
  db: Queryable,
  systemId: string,
  days: readonly string[],
  id: string,
): Promise<WholeRequestRow | undefined> {
  return (await db.query<WholeRequestRow>(find, [systemId, days, id]))[0];
}

/**
 * The counts of requests. `rate_limited`: answered with status 429, which `client_errors` leaves out. `unlogged`: counted,
 * but left out of the log, because there were too many.
 */
type UsageCounts = Pick<
  Tables["key_usage_minutes"],
  "requests" | "client_errors" | "server_errors" | "rate_limited" | "unlogged"
>;

const counted = `sum(requests)::int as requests, sum(client_errors)::int as client_errors,
  sum(server_errors)::int as server_errors, sum(rate_limited)::int as rate_limited`;
const sums = `${counted}, sum(unlogged)::int as unlogged`;

const minutes = statement(
  "requests.minutes",
  `select minute, ${sums} from key_usage_minutes
   where system_id = $1 and counted_on between $4::date and $5::date and minute >= $6 and minute < $7
     and ($2::text is null or partner_id = $2) and ($3::text is null or key_id = $3)
   group by minute order by minute`,
);

/** The owner and time of requests. Null: anybody's. */
export interface UsageRange {
  readonly partnerId: string | null;
  readonly keyId: string | null;
  readonly since: Date;
  readonly until: Date;
}

/** Returns the usage by minute, the first minute first. Minutes without requests are left out. */
export function listMinuteUsage(
  db: Queryable,
  systemId: string,
  { partnerId, keyId, since, until }: UsageRange,
): Promise<(UsageCounts & { readonly minute: Date })[]> {
  const [from, to] = [since, until].map((at) => at.toISOString().slice(0, 10));
  return db.query(minutes, [systemId, partnerId, keyId, from, to, since, until]);
}

/**
 * Maximum number of rows (one for a key and a minute) that a chart adds up, the newest first. Too low: a week of many keys
 * is cut off. Too high: one chart reads for longer than 100 ms.
 */
export const MAX_CHARTED_MINUTES = 100_000;

// Each kind of owner has its own statement, which reads its own index backwards and stops at the limit.
function overTimeStatement(owner: Owner): Statement {
  const isOfPartner = owner === "partner" || owner === "partner_key";
  const isOfKey = owner === "key" || owner === "partner_key";
  return statement(
    `requests.overTime.${owner}`,
    `select width_bucket(minute, $6::timestamptz[]) as step, ${counted}, count(*)::int as n, min(minute) as oldest_at
     from (
       select minute, requests, client_errors, server_errors, rate_limited from key_usage_minutes
       where system_id = $1 and ${isOfPartner ? "partner_id = $2" : "$2::text is null"}
         and ${isOfKey ? "key_id = $3" : "$3::text is null"}
         and counted_on between ($4::timestamptz at time zone 'UTC')::date and ($5::timestamptz at time zone 'UTC')::date
         and minute >= $4 and minute < $5
       order by minute desc limit ${MAX_CHARTED_MINUTES + 1}) as newest
     group by step`,
  );
}

const overTime = {
  system: overTimeStatement("system"),
  partner: overTimeStatement("partner"),
  key: overTimeStatement("key"),
  partner_key: overTimeStatement("partner_key"),
} as const;

/** Requests in one step of time. */
export interface UsageStepRow extends Omit<UsageCounts, "unlogged"> {
  /** The index of the step, from 1. */
  readonly step: number;
  /** The number of rows (one for a key and a minute) that were added up. */
  readonly n: number;
  /** The minute of the oldest of these rows. */
  readonly oldest_at: Date;
}

/**
 * Adds up the newest rows between the first and the last bound: MAX_CHARTED_MINUTES at most, and one more to show that there
 * are more.
 */
export function listUsageSteps(
  db: Queryable,
  systemId: string,
  { partnerId, keyId }: Pick<UsageRange, "partnerId" | "keyId">,
  bounds: readonly Date[],
): Promise<UsageStepRow[]> {
  const values = [systemId, partnerId, keyId, bounds[0], bounds.at(-1), bounds];
  return db.query<UsageStepRow>(overTime[ownerOf(partnerId, keyId)], values);
}

const keyMinutes = statement(
  "requests.keyMinutes",
  `select key_id, minute, requests, client_errors, server_errors, rate_limited from key_usage_minutes
   where system_id = $1 and partner_id = $2 and counted_on between $3::date and $4::date and minute >= $5
   order by key_id, minute`,
);

/** Returns the usage of each key of a partner by minute. Minutes without requests are omitted. */
export function listKeyMinutes(
  db: Queryable,
  systemId: string,
  partnerId: string,
  since: Date,
  now: Date,
): Promise<Omit<MinuteUsage, "counted_on" | "partner_id" | "unlogged">[]> {
  const [from, to] = [since, now].map((at) => at.toISOString().slice(0, 10));
  return db.query(keyMinutes, [systemId, partnerId, from, to, since]);
}

const keyTotals = statement(
  "requests.keyTotals",
  `select key_id, sum(requests)::int as requests, sum(client_errors)::int as client_errors,
     sum(server_errors)::int as server_errors, sum(rate_limited)::int as rate_limited,
     max(requests) as most_in_minute, max(minute) as last_minute
   from key_usage_minutes
   where system_id = $1 and counted_on between $2::date and $3::date and minute >= $4
   group by key_id order by key_id`,
);

/** The usage of a key over several minutes. */
export interface KeyTotal extends Omit<UsageCounts, "unlogged"> {
  readonly key_id: string;
  /** The requests in its busiest minute. */
  readonly most_in_minute: number;
  readonly last_minute: Date;
}

/** Returns the usage of each key of a system since a minute. */
export function listKeyTotals(db: Queryable, systemId: string, since: Date, now: Date): Promise<KeyTotal[]> {
  const [from, to] = [since, now].map((at) => at.toISOString().slice(0, 10));
  return db.query<KeyTotal>(keyTotals, [systemId, from, to, since]);
}

const dayOfKeys = statement(
  "requests.dayOfKeys",
  `select coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(client_errors), 0)::bigint as client_errors,
     coalesce(sum(server_errors), 0)::bigint as server_errors, coalesce(sum(rate_limited), 0)::bigint as rate_limited
   from key_usage_days where system_id = $1 and key_id = any($2::text[]) and day = $3::date`,
);

/** Returns the total usage of some keys on a day. */
export async function findDayUsage(
  db: Queryable,
  systemId: string,
  keyIds: readonly string[],
  day: string,
): Promise<Omit<UsageCounts, "unlogged">> {
  return oneRow(await db.query<Omit<UsageCounts, "unlogged">>(dayOfKeys, [systemId, keyIds, day]));
}

const days = statement(
  "requests.days",
  `select key_id, day, route, requests, client_errors, server_errors, rate_limited, total_ms from key_usage_days
   where system_id = $1 and day between $4::date and $5::date
     and ($2::text is null or partner_id = $2) and ($3::text is null or key_id = $3)
   order by day, key_id, route`,
);

/** Returns the usage by day, key and route, the first day first. */
export function listDayUsage(
  db: Queryable,
  systemId: string,
  { partnerId, keyId, since, until }: UsageRange,
): Promise<Omit<DayUsage, "partner_id">[]> {
  const [from, to] = [since, until].map((at) => at.toISOString().slice(0, 10));
  return db.query(days, [systemId, partnerId, keyId, from, to]);
}

const callers = statement(
  "requests.callers",
  `select route, key_id, max(partner_id) as partner_id, max(day) as last_day, sum(requests)::bigint as requests
   from key_usage_days where system_id = $1 and day >= $2::date and route = any($3::text[])
     and ($4::text is null or partner_id = $4)
   group by route, key_id order by route, last_day desc, key_id`,
);

/** A key that has called a route. */
export interface RouteCaller {
  readonly route: string;
  readonly key_id: string;
  readonly partner_id: string | null;
  readonly last_day: string;
  readonly requests: number;
}

/**
 * Returns the keys, of one partner or of all, that have called any of some routes since a day. The operator informs their
 * owners before a route is retired.
 */
export function listRouteCallers(
  db: Queryable,
  systemId: string,
  since: string,
  routes: readonly string[],
  partnerId: string | null,
): Promise<RouteCaller[]> {
  return db.query<RouteCaller>(callers, [systemId, since, routes, partnerId]);
}
