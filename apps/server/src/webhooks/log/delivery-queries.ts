import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { deliveryColumns } from "./search-sql-fragments.ts";

/** A delivery as it stands: what it is, and its position in the queue. */
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
  /** What it says is still kept. */
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

/** The delivery with an id. @param days when it may have been made, the likeliest first */
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

/** How the latest attempt of a delivery ended. */
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
