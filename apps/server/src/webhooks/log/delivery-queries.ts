import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { IS_DISTRIBUTED } from "../../storage/db/sql-fragments.ts";
import { statement, type Statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { DROPPED_OR_SKIPPED } from "../queue/sql-fragments.ts";
import { type SearchIndex, searchIndexFor } from "./delivery-filter.rules.ts";
import {
  deliveryColumns,
  type DeliveryPosition,
  type DeliverySearch,
  type EndpointSearch,
  forEachIndex,
  found,
  matches,
  MAX_QUEUED_ROWS,
  MAX_SEARCHED_ROWS,
  searchValues,
} from "./search-sql-fragments.ts";

/*
 * Statements that search deliveries, read their attempts, and summarize them. The fragments of search-sql-fragments.ts use
 * the parameters $1 to $12 of `searchValues`: `found` selects the rows of a search and numbers them (`n`), `matches` is the
 * filter's condition, and `deliveryColumns` expects the aliases `delivery` and `due` (its row in the queue).
 */

// Reads one page for each endpoint, so that each uses its index. Returns the last row that may be read even if it does not
// match: the next page begins behind it.
const pageOf = (index: SearchIndex): Statement =>
  statement(
    `deliveries.search.${index}`,
    `select ${deliveryColumns}, (${matches}) as is_match, delivery.n = $14 as is_last_searched
     from unnest($2::text[]) as chosen (endpoint_id)
     cross join lateral (
       ${found(index, { endpoint: "chosen.endpoint_id", limit: "$14::bigint" })} limit $13) as delivery
     left join webhook_queue due on due.system_id = $1 and due.delivery_id = delivery.id
     order by delivery.created_at desc, delivery.id desc`,
  );

const pages = forEachIndex(pageOf);

/** Returns the statement that finds a page by an index, and its parameters. @param limit the most rows of each endpoint */
export function findPageStatement(
  index: SearchIndex,
  search: DeliverySearch,
  limit: number,
): { readonly page: Statement; readonly values: unknown[] } {
  const perEndpoint = Math.floor(MAX_SEARCHED_ROWS / search.endpointIds.length);
  return { page: pages[index], values: [...searchValues(search, search.endpointIds), limit, perEndpoint] };
}

// Forbids plans that sort: they read the whole range of an index before they return the first row. PostgreSQL often
// estimates such a plan as cheaper, because it does not know how many rows the values of one call match. Uses one plan for
// all values, because planning takes longer than a search does; not in a distributed database, where each value needs a
// plan.
const settings = statement(
  "deliveries.searchSettings",
  `select set_config(name, value, true) from (values ('enable_sort', 'off'), ('enable_bitmapscan', 'off'),
     ('enable_seqscan', 'off'), ('jit', 'off'), ('plan_cache_mode', 'force_generic_plan')) as setting (name, value)
   where name <> 'plan_cache_mode' or not ${IS_DISTRIBUTED}`,
);

/** Makes the searches of a transaction walk their indexes in order. */
export async function updateSearchSettings(tx: Transaction): Promise<void> {
  await tx.query(settings);
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
  /** Whether it is queued to be sent again on request, after regular deliveries; null: not queued. */
  readonly replay: boolean | null;
  /** When a worker claimed it to send it; null: it is not being sent. */
  readonly claimed_at: Date | null;
}

/** Rows that a search has found, and where it stopped. */
export interface FoundRows {
  readonly rows: readonly DeliveryRow[];
  /** The position at which the search gave up before it found enough; null: it has read everything, or found enough. */
  readonly stoppedAt: DeliveryPosition | null;
}

/** A row of a searched page: a match, or the last row of an endpoint's share, which may be no match. */
interface SearchedRow extends DeliveryRow {
  readonly is_match: boolean;
  readonly is_last_searched: boolean;
}

/**
 * Returns deliveries that a filter lets through, newest first, `limit` at most. Reads at most MAX_SEARCHED_ROWS rows, an
 * equal share for each endpoint. The list ends where the first endpoint has read its share.
 */
export async function listFoundDeliveries(db: Queryable, search: DeliverySearch, limit: number): Promise<FoundRows> {
  if (search.endpointIds.length === 0) return { rows: [], stoppedAt: null };
  const searched = await db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    const { page, values } = findPageStatement(await findSearchIndex(tx, search), search, limit);
    return tx.query<SearchedRow>(page, values);
  });
  const last = searched.findIndex((row) => row.is_last_searched);
  const complete = last === -1 ? searched : searched.slice(0, last + 1);
  const rows = complete.flatMap(({ is_match, is_last_searched: _, ...row }) => (is_match ? [row] : []));
  return { rows: rows.slice(0, limit), stoppedAt: rows.length < limit ? (searched[last] ?? null) : null };
}

const queued = statement(
  "deliveries.queued",
  `select count(*) as n from (
     select from webhook_queue where system_id = $1 and endpoint_id = any($2::text[])
     limit ${MAX_QUEUED_ROWS + 1}) as first`,
);

/**
 * Returns the index for a search. Uses the queue only while it is short: a long queue consists of the newest deliveries,
 * which a search by endpoint finds first.
 */
export async function findSearchIndex(
  db: Queryable,
  { systemId, endpointIds, filter }: DeliverySearch,
): Promise<SearchIndex> {
  const index = searchIndexFor(filter);
  if (index !== "queue") return index;
  const { n } = oneRow(await db.query<{ n: number }>(queued, [systemId, endpointIds]));
  return n <= MAX_QUEUED_ROWS ? "queue" : "endpoint";
}

// The column `problem` is `failing` (to be tried again after a failed attempt), `failed` (given up, dropped or
// skipped), `held`, or null.
const nextTo = (direction: "older" | "newer") => {
  const [compare, order] = direction === "older" ? ["<", "desc"] : [">", "asc"];
  const bound = direction === "older" ? "created_on <= $3::timestamptz::date" : "created_on >= $3::timestamptz::date";
  return statement(
    `deliveries.problem.${direction}`,
    `select near.id from unnest(array['failing', 'failed']) as kind (problem)
     cross join lateral (
       select created_at, id from webhook_deliveries
       where system_id = $1 and endpoint_id = $2 and problem = kind.problem and ${bound}
         and (created_at, id) ${compare} ($3, $4::text)
       order by created_at ${order}, id ${order} limit 1) as near
     order by near.created_at ${order}, near.id ${order} limit 1`,
  );
};
const neighbours = { older: nextTo("older"), newer: nextTo("newer") } as const;

/**
 * Returns the id of the nearest delivery that is failing, or was given up, dropped or skipped, in one direction from a
 * position; null: there is none.
 */
export async function findNextProblem(
  db: Queryable,
  { systemId, endpointId }: Pick<EndpointSearch, "systemId" | "endpointId">,
  from: DeliveryPosition,
  direction: "older" | "newer",
): Promise<string | null> {
  const values = [systemId, endpointId, from.created_at, from.id];
  const [nearest] = await db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    return tx.query<{ id: string }>(neighbours[direction], values);
  });
  return nearest?.id ?? null;
}

/** A delivery's keys, and the properties by which a change is noticed. */
export type ChangeRow = Pick<
  Tables["webhook_deliveries"],
  "endpoint_id" | "id" | "status" | "attempts" | "latest_failure"
>;

const newest = statement(
  "deliveries.newest",
  `select delivery.* from unnest($2::text[]) as watched (endpoint_id)
   cross join lateral (
     select endpoint_id, id, status, attempts, latest_failure from webhook_deliveries
     where system_id = $1 and endpoint_id = watched.endpoint_id
     order by created_at desc, id desc limit $3) as delivery`,
);

/** Returns the newest deliveries of each endpoint, the newest first. */
export function listNewestDeliveries(
  db: Queryable,
  systemId: string,
  endpointIds: readonly string[],
  limit: number,
): Promise<ChangeRow[]> {
  return db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    return tx.query<ChangeRow>(newest, [systemId, endpointIds, limit]);
  });
}

// Reads the deliveries of each endpoint by the index on `resource_id`.
const ofResource = statement(
  "webhooks.listOfResource",
  `select found.id, found.event_id, found.event, found.status, found.created_at, endpoint.id as endpoint_id,
     endpoint.partner_id, partners.name as partner_name
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

/** A delivery of an event about a resource, and the partner that it is for. */
export interface ResourceDelivery extends Pick<
  Tables["webhook_deliveries"],
  "id" | "endpoint_id" | "event_id" | "event" | "status" | "created_at"
> {
  readonly partner_id: string;
  readonly partner_name: string;
}

/** Returns the deliveries about a resource to any partner, the newest first. @param perEndpoint maximum for each endpoint */
export function listResourceDeliveries(
  db: Queryable,
  systemId: string,
  resourceId: string,
  { perEndpoint, limit }: { readonly perEndpoint: number; readonly limit: number },
): Promise<ResourceDelivery[]> {
  return db.query<ResourceDelivery>(ofResource, [systemId, resourceId, perEndpoint, limit]);
}

/** A delivery that was found by its id. */
export interface FoundDelivery extends DeliveryRow {
  readonly partner_id: string;
  /** The body is still stored. */
  readonly has_body: boolean;
}

// Searches one day after the other, by the primary key, until the delivery is found.
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

/** Returns the delivery with an id. @param days the days on which it may have been created, the likeliest first */
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
   order by attempt.number desc limit $5`,
);

/**
 * Returns the attempts of a delivery that were made on the days from `from` to `to`, oldest first.
 * @param limit maximum, counted from the latest; undefined: all
 */
export async function listAttempts(
  db: Queryable,
  systemId: string,
  {
    id,
    from,
    to,
    limit,
  }: { readonly id: string; readonly from: string; readonly to: string; readonly limit?: number | undefined },
): Promise<AttemptRow[]> {
  return (await db.query<AttemptRow>(attempts, [systemId, id, from, to, limit ?? null])).toReversed();
}

/** The outcome of an attempt, without what was sent and answered, for a list of deliveries. */
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

/**
 * Returns the latest attempts of deliveries, each looked for on the days from `from` to `to`.
 * @param wanted `number`: the number of the delivery's latest attempt
 */
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
  /** Deliveries that were created since the instant, and succeeded. */
  readonly succeeded: number;
  /** Deliveries that were given up since the instant, without those that were dropped or skipped. */
  readonly given_up: number;
  /** When the first of those given up was created, and their most frequent failure; null: none was given up. */
  readonly given_up_from: Date | null;
  readonly given_up_failure: string | null;
  /** Deliveries that will be tried again after a failed attempt, whenever they were created. */
  readonly failing: number;
  /** False: a limit ended the counts, so they may be too low. */
  readonly is_complete: boolean;
}

// Each part walks one index from its newest end, up to the limit. `failed` has no lower bound for `created_at`, because
// deliveries that are given up now were created days before. Dropped and skipped ones are filtered after the limit,
// because leaving them out before it could read any number of rows.
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
   from failed where finished_at >= $3 and coalesce(latest_failure, '') not in ${DROPPED_OR_SKIPPED}`,
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
