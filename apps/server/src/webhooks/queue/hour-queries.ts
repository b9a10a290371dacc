import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { bigints, integers, texts } from "./binary-format.ts";
import { isOfSystem, matchesDelivery, SKIPPED } from "./sql-fragments.ts";

/** An endpoint that takes so many new events an hour, and its lane's token. */
export interface HourRequest {
  readonly endpointId: string;
  readonly token: number;
  readonly maxPerHour: number;
}

/*
 * The lane's row is locked: only its holder counts, one statement at a time, so that commands that cause events wait for
 * nobody. The hour is PostgreSQL's, and never begins again: a worker's clock does not matter. A delivery that is let through
 * stays so, however often it is claimed and tried.
 */
const countHour = statement(
  "hour.count",
  `with lane as materialized (
     select lane.endpoint_id, wanted.most, hour.ends_at,
       case when hour.goes_on then lane.hour_sent else 0 end as sent,
       case when hour.goes_on then lane.hour_skipped else 0 end as skipped
     from unnest($2::text[], $3::bigint[], $4::int[]) as wanted (endpoint_id, token, most)
     cross join lateral (
       select * from webhook_lanes lane
       where lane.system_id = $1 and lane.endpoint_id = wanted.endpoint_id and lane.token = wanted.token
       for no key update) as lane
     cross join lateral (
       select coalesce(lane.hour_ends_at > now(), false) as goes_on,
         case when lane.hour_ends_at > now() then lane.hour_ends_at
           else date_trunc('hour', now(), 'UTC') + interval '1 hour' end as ends_at) as hour),
   due as materialized (
     select lane.endpoint_id, next.row_address, next.n <= lane.most - lane.sent as is_let_through
     from lane cross join lateral (
       select first.row_address, row_number() over (order by first.due_at, first.delivery_id) as n
       from (
         select queued.ctid as row_address, queued.due_at, queued.delivery_id from webhook_queue queued
         where queued.system_id = $1 and queued.endpoint_id = lane.endpoint_id and queued.is_uncounted
           and queued.due_at <= $5 and queued.claim is null
         order by queued.due_at, queued.delivery_id
         limit $6
         for update skip locked) as first) as next),
   let_through as (
     update webhook_queue queued set is_uncounted = false from due
     where ${isOfSystem("queued")} and queued.ctid = due.row_address and due.is_let_through),
   skipped as (
     delete from webhook_queue queued using due
     where ${isOfSystem("queued")} and queued.ctid = due.row_address and not due.is_let_through
     returning queued.system_id, queued.created_on, queued.endpoint_id, queued.delivery_id),
   told as (
     update webhook_deliveries delivery set status = 'failed', latest_failure = '${SKIPPED}', finished_at = now()
     from skipped where ${matchesDelivery("skipped")}),
   counted as materialized (
     select lane.endpoint_id, lane.ends_at, lane.sent, lane.skipped,
       count(*) filter (where due.is_let_through) as now_sent, count(*) filter (where not due.is_let_through) as now_skipped
     from lane join due on due.endpoint_id = lane.endpoint_id
     group by lane.endpoint_id, lane.ends_at, lane.sent, lane.skipped)
   update webhook_lanes lane
   set hour_ends_at = counted.ends_at, hour_sent = counted.sent + counted.now_sent,
     hour_skipped = counted.skipped + counted.now_skipped
   from counted where lane.system_id = $1 and lane.endpoint_id = counted.endpoint_id
   returning counted.now_sent + counted.now_skipped as n`,
);

/** Deliveries of an endpoint that are counted at once. Too high: the lane's row is locked for longer. */
const HOUR_BATCH = 1_000;

/**
 * Lets the first due deliveries of new events of an hour through, and skips the rest, which stay in the log.
 * @returns whether some endpoint may have more that are due
 */
export async function updateHour(
  db: Queryable,
  systemId: string,
  requests: readonly HourRequest[],
  now: Date,
): Promise<boolean> {
  const rows = await db.query<{ n: number }>(countHour, [
    systemId,
    texts.encode(requests.map(({ endpointId }) => endpointId)),
    bigints.encode(requests.map(({ token }) => token)),
    integers.encode(requests.map(({ maxPerHour }) => maxPerHour)),
    now,
    HOUR_BATCH,
  ]);
  return rows.some(({ n }) => n >= HOUR_BATCH);
}
