import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { DROPPED } from "../queue/sql-fragments.ts";
import { deliveryColumns } from "./search-sql-fragments.ts";

// Each endpoint's by the index of resources.
const list = statement(
  "webhooks.listOfResource",
  `select found.id, found.event_id, found.event, found.status, found.created_at, endpoint.partner_id,
     partners.name as partner_name
   from webhook_endpoints endpoint
   join partners on partners.system_id = $1 and partners.id = endpoint.partner_id
   cross join lateral (
     select delivery.id, delivery.event_id, delivery.event, delivery.status, delivery.created_at
     from webhook_deliveries delivery
     where delivery.system_id = $1 and delivery.endpoint_id = endpoint.id and delivery.resource_id = $2
     order by delivery.created_at desc, delivery.id desc limit $3) as found
   where endpoint.system_id = $1
   order by found.created_at desc, found.id desc limit $4`,
);

/** A delivery of an event about a resource, and whose it is. */
export interface ResourceDelivery extends Pick<
  Tables["webhook_deliveries"],
  "id" | "event_id" | "event" | "status" | "created_at"
> {
  readonly partner_id: string;
  readonly partner_name: string;
}

/** Returns the deliveries about a resource, the newest first. @param perEndpoint so many of each endpoint at most */
export function listResourceDeliveries(
  db: Queryable,
  systemId: string,
  resourceId: string,
  { perEndpoint, limit }: { readonly perEndpoint: number; readonly limit: number },
): Promise<ResourceDelivery[]> {
  return db.query<ResourceDelivery>(list, [systemId, resourceId, perEndpoint, limit]);
}

/** A delivery and its position in the queue. */
export interface DeliveryRow extends Pick<
  Tables["webhook_deliveries"],
  | "id"
  | "created_on"
  | "endpoint_id"
  | "event_id"
  | "event"
  | "resource_id"
  | "created_at"
  | "status"
  | "attempts"
  | "latest_code"
  | "latest_failure"
  | "problem"
  | "finished_at"
> {
  /** Null: not queued. */
  readonly due_at: Date | null;
  /** Attempts of this schedule so far; null: not queued. */
  readonly tries: number | null;
  readonly replay: boolean | null;
  /** Being sent since then. */
  readonly claimed_at: Date | null;
}

/** A delivery whose id alone was known. */
export interface FoundDelivery extends DeliveryRow {
  readonly partner_id: string;
  /** The body is still stored. */
  readonly has_body: boolean;
}

// Day after day, each by the primary key, until it is found.
const find = statement(
  "deliveries.find",
  `select ${deliveryColumns}, endpoint.partner_id, exists (
     select from webhook_bodies body where body.system_id = $1 and body.created_on = delivery.created_on
       and body.event_id = delivery.event_id) as has_body
   from (
     select found.* from unnest($3::date[]) with ordinality as day (created_on, n)
     cross join lateral (
       select * from webhook_deliveries where system_id = $1 and created_on = day.created_on and id = $2) as found
     limit 1) as delivery
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = delivery.endpoint_id
   left join webhook_queue due on due.system_id = $1 and due.delivery_id = delivery.id`,
);

/** Returns the delivery with an id. @param days when it may have been made, the likeliest first */
export async function findDelivery(
  db: Queryable,
  systemId: string,
  id: string,
  days: readonly string[],
): Promise<FoundDelivery | undefined> {
  return (await db.query<FoundDelivery>(find, [systemId, id, days]))[0];
}

const attemptColumns = columnsOfTable("webhook_attempts").without(
  "system_id",
  "started_on",
  "delivery_id",
  "endpoint_id",
);
/** An attempt as it is logged. */
export type AttemptRow = RowOf<typeof attemptColumns>;

const attempts = statement(
  "deliveries.attempts",
  `select attempt.* from generate_series($3::timestamp, $4::timestamp, interval '1 day') as day
   cross join lateral (
     select ${attemptColumns.list()} from webhook_attempts
     where system_id = $1 and started_on = day::date and delivery_id = $2) as attempt
   order by attempt.number`,
);

/** Every attempt of a delivery that was made on one of the days from `from` to `to`, the first first. */
export function listAttempts(
  db: Queryable,
  systemId: string,
  id: string,
  from: string,
  to: string,
): Promise<AttemptRow[]> {
  return db.query<AttemptRow>(attempts, [systemId, id, from, to]);
}

/** The outcome of a delivery's latest attempt. */
export interface LatestAttempt extends Pick<
  AttemptRow,
  "number" | "started_at" | "outcome" | "failure" | "detail" | "status"
> {
  readonly delivery_id: string;
}

const latest = statement(
  "deliveries.latestAttempts",
  `select attempt.* from unnest($2::text[], $3::smallint[], $4::date[], $5::date[]) as wanted (id, number, first, last)
   cross join lateral (
     select delivery_id, webhook_attempts.number, started_at, outcome, failure, detail, status
     from generate_series(wanted.first::timestamp, wanted.last::timestamp, interval '1 day') as day
     join webhook_attempts on system_id = $1 and started_on = day::date and delivery_id = wanted.id
       and webhook_attempts.number = wanted.number
     limit 1) as attempt`,
);

/** Certain attempts, each looked for on the days from `from` to `to`. */
export function listLatestAttempts(
  db: Queryable,
  systemId: string,
  wanted: readonly { readonly id: string; readonly number: number; readonly from: string; readonly to: string }[],
): Promise<LatestAttempt[]> {
  return db.query<LatestAttempt>(latest, [
    systemId,
    wanted.map(({ id }) => id),
    wanted.map(({ number }) => number),
    wanted.map(({ from }) => from),
    wanted.map(({ to }) => to),
  ]);
}

/** The recent outcomes of an endpoint's deliveries. */
export interface DeliverySummary {
  readonly succeeded: number;
  readonly given_up: number;
  /** When the first of those given up was created, and why most of them failed. */
  readonly given_up_from: Date | null;
  readonly given_up_failure: string | null;
  /** Deliveries that will be tried again after a failed attempt. */
  readonly failing: number;
  /** Whether nothing more could be counted. */
  readonly is_complete: boolean;
}

// Each part walks one index from its newest end, up to the limit. Deliveries that were given up were created days before.
// Dropped ones are filtered behind the limit: skipping all of them would be unbounded.
const summary = statement(
  "deliveries.summary",
  `with latest as materialized (
     select status from webhook_deliveries
     where system_id = $1 and endpoint_id = $2 and created_on >= $3::timestamptz::date and created_at >= $3
     order by created_at desc, id desc limit $4),
   failed as materialized (
     select created_at, latest_failure, finished_at from webhook_deliveries
     where system_id = $1 and endpoint_id = $2 and problem = 'failed'
     order by created_at desc, id desc limit $4),
   failing as materialized (
     select 1 from webhook_deliveries
     where system_id = $1 and endpoint_id = $2 and problem = 'failing'
     order by created_at desc, id desc limit $4)
   select (select count(*) filter (where status = 'succeeded') from latest) as succeeded,
     count(*) as given_up, min(created_at) as given_up_from,
     mode() within group (order by latest_failure) as given_up_failure,
     (select count(*) from failing) as failing,
     (select count(*) from latest) < $4 and (select count(*) from failed) < $4 and (select count(*) from failing) < $4
       as is_complete
   from failed where finished_at >= $3 and latest_failure is distinct from '${DROPPED}'`,
);

/** Counts an endpoint's deliveries since an instant, up to `limit` of each kind. */
export async function countRecentDeliveries(
  db: Queryable,
  systemId: string,
  endpointId: string,
  since: Date,
  limit: number,
): Promise<DeliverySummary> {
  return oneRow(await db.query<DeliverySummary>(summary, [systemId, endpointId, since, limit]));
}
