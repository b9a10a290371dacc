import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import type { DayUsage, MinuteUsage } from "./queries.ts";

/** What is counted of requests. */
export type UsageCounts = Pick<
  Tables["key_usage_minutes"],
  "requests" | "client_errors" | "server_errors" | "rate_limited" | "unlogged"
>;

const sums = `sum(requests)::int as requests, sum(client_errors)::int as client_errors,
  sum(server_errors)::int as server_errors, sum(rate_limited)::int as rate_limited, sum(unlogged)::int as unlogged`;

const minutes = statement(
  "requests.minutes",
  `select minute, ${sums} from key_usage_minutes
   where system_id = $1 and counted_on between $4::date and $5::date and minute >= $6 and minute < $7
     and ($2::text is null or partner_id = $2) and ($3::text is null or key_id = $3)
   group by minute order by minute`,
);

/** Whose requests, and when they arrived. Null: anybody's. */
export interface UsageRange {
  readonly partnerId: string | null;
  readonly keyId: string | null;
  readonly since: Date;
  readonly until: Date;
}

/** Requests by minute, the first minute first. Minutes without any are left out. */
export function listMinuteUsage(
  db: Queryable,
  systemId: string,
  { partnerId, keyId, since, until }: UsageRange,
): Promise<(UsageCounts & { readonly minute: Date })[]> {
  const [from, to] = [since, until].map((at) => at.toISOString().slice(0, 10));
  return db.query(minutes, [systemId, partnerId, keyId, from, to, since, until]);
}

const keyMinutes = statement(
  "requests.keyMinutes",
  `select key_id, minute, requests, client_errors, server_errors, rate_limited from key_usage_minutes
   where system_id = $1 and partner_id = $2 and counted_on between $3::date and $4::date and minute >= $5
   order by key_id, minute`,
);

/** What each key of a partner did, by minute. Minutes without any request are left out. */
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

/** What a key did in some minutes taken together. */
export interface KeyTotal extends Omit<UsageCounts, "unlogged"> {
  readonly key_id: string;
  readonly most_in_minute: number;
  readonly last_minute: Date;
}

/** What each key of a system has done since a minute. */
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

/** What some keys did on a day, taken together. */
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

/** Requests by day, key and route, the first day first. */
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

/** The keys, of one partner or of all, that have called any of some routes since a day: whom to tell before a part is retired. */
export function listRouteCallers(
  db: Queryable,
  systemId: string,
  since: string,
  routes: readonly string[],
  partnerId: string | null,
): Promise<RouteCaller[]> {
  return db.query<RouteCaller>(callers, [systemId, since, routes, partnerId]);
}
