import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import { bigints, integers, texts } from "./binary-format.ts";
import { inLockOrder } from "./lane-queries.ts";
import { isOfSystem, matchesDelivery, SKIPPED } from "./sql-fragments.ts";

/** The hourly limit of an endpoint (docs/glossary.md#hourly-limit), and the token of the worker that holds its lane. */
export interface HourlyLimit {
  readonly endpointId: string;
  readonly token: number;
  readonly maxPerHour: number;
}

/*
 * Deliveries are counted when they are due, not when they are written, so that commands do not wait for each other. The
 * lane's row is locked, so one worker counts at a time: the lane's holder. Hours are by PostgreSQL's clock; a worker's clock
 * only decides which deliveries are due. An hour that was counted is not counted anew, even if a clock is set back.
 * `is_uncounted` marks a delivery of a new event that no limit was applied to yet. A delivery that was let through is not
 * counted again, however often it is claimed and tried.
 *
 * The steps: `lane` locks the lanes that have uncounted due deliveries (`busy`), and reads the counts of the present
 * hour (`hour`). `due` locks these deliveries and lets the first ones through, up to the limit. The others leave the
 * queue (`skipped`, `logged`). The statement itself adds both numbers to the counts of the lanes.
 */
const applyLimit = statement(
  "hourlyLimit.apply",
  `with lane as materialized (
     select lane.endpoint_id, wanted.most, hour.ends_at,
       case when hour.goes_on then lane.hour_sent else 0 end as sent,
       case when hour.goes_on then lane.hour_skipped else 0 end as skipped
     from unnest($2::text[], $3::bigint[], $4::int[]) as wanted (endpoint_id, token, most)
     cross join lateral (
       select queued.endpoint_id from webhook_queue queued
       where queued.system_id = $1 and queued.endpoint_id = wanted.endpoint_id and queued.is_uncounted
         and queued.due_at <= $5 and queued.claim is null
       limit 1) as busy
     cross join lateral (
       select * from webhook_lanes lane
       where lane.system_id = $1 and lane.endpoint_id = busy.endpoint_id and lane.token = wanted.token
       for no key update) as lane
     cross join lateral (
       select coalesce(lane.hour_ends_at > now(), false) as goes_on,
         case when lane.hour_ends_at > now() then lane.hour_ends_at
           else date_trunc('hour', now(), 'UTC') + interval '1 hour' end as ends_at) as hour),
   due as materialized (
     select lane.endpoint_id, numbered.row_address, numbered.n <= lane.most - lane.sent as is_let_through
     from lane cross join lateral (
       select candidate.row_address, row_number() over (order by candidate.due_at, candidate.delivery_id) as n
       from (
         select queued.ctid as row_address, queued.due_at, queued.delivery_id from webhook_queue queued
         where queued.system_id = $1 and queued.endpoint_id = lane.endpoint_id and queued.is_uncounted
           and queued.due_at <= $5 and queued.claim is null
         order by queued.due_at, queued.delivery_id
         limit $6
         for update skip locked) as candidate) as numbered),
   let_through as (
     update webhook_queue queued set is_uncounted = false from due
     where ${isOfSystem("queued")} and queued.ctid = due.row_address and due.is_let_through),
   skipped as (
     delete from webhook_queue queued using due
     where ${isOfSystem("queued")} and queued.ctid = due.row_address and not due.is_let_through
     returning queued.system_id, queued.created_on, queued.endpoint_id, queued.delivery_id),
   logged as (
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

/** Maximum deliveries of an endpoint that are counted at once. Too high: the lane's row is locked for longer. */
const COUNT_BATCH = 1_000;

/**
 * Applies the hourly limits: lets the first due deliveries of new events through, and skips the rest, which stay in the log.
 * @returns whether an endpoint may have more due deliveries that are not counted yet
 */
export async function applyHourlyLimit(
  db: Queryable,
  systemId: string,
  requests: readonly HourlyLimit[],
  now: Date,
): Promise<boolean> {
  const sorted = inLockOrder(requests);
  const rows = await db.query<{ n: number }>(applyLimit, [
    systemId,
    texts.encode(sorted.map(({ endpointId }) => endpointId)),
    bigints.encode(sorted.map(({ token }) => token)),
    integers.encode(sorted.map(({ maxPerHour }) => maxPerHour)),
    now,
    COUNT_BATCH,
  ]);
  return rows.some(({ n }) => n >= COUNT_BATCH);
}
