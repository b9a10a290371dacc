import type { Statement } from "../../storage/db/statement.ts";
import {
  codeRange,
  type DeliveryFilter,
  failureAskedFor,
  problemOf,
  type SearchIndex,
} from "./delivery-filter.rules.ts";

/*
 * SQL of the search for deliveries by a filter, newest first, with a limit on the rows that are read. All its statements
 * take the same parameters, which `searchValues` makes: $1 the system, $2 the endpoints, $3 `since`, $4 and $5 the position
 * `before`, and of the filter $6 the event, $7 the resource, $8 the failure, $9 the value of the column `problem`, $10 and
 * $11 the lowest and the highest code, $12 the status.
 */

/** A position in a list of deliveries, which are ordered by when they were created, and then by id. */
export interface DeliveryPosition {
  readonly created_at: Date;
  readonly id: string;
}

/** A filter of a system's deliveries, and the range that is searched. */
export interface SearchRange {
  readonly systemId: string;
  readonly filter: DeliveryFilter;
  /** Only deliveries created at this time or later. */
  readonly since: Date;
  /** Only deliveries older than this position. */
  readonly before: DeliveryPosition;
}

/** A search in the deliveries of some endpoints. */
export interface DeliverySearch extends SearchRange {
  readonly endpointIds: readonly string[];
}

/** A search in an endpoint's deliveries. */
export interface EndpointSearch extends SearchRange {
  readonly endpointId: string;
}

/**
 * Rows that one search reads at most. With fewer, filters that no index serves need more pages; with more, such a page
 * takes longer than 50 ms.
 */
export const MAX_SEARCHED_ROWS = 10_000;
/**
 * Longest queue that a search for pending deliveries reads. The search reads all of it, because the queue has no order in
 * which a page could stop.
 */
export const MAX_QUEUED_ROWS = 5_000;

/** SQL for the columns of a delivery, and of `due`, its row in the queue. */
export const deliveryColumns = `delivery.id, delivery.created_on, delivery.endpoint_id, delivery.event_id, delivery.event,
  delivery.resource_id, delivery.created_at, delivery.status, delivery.attempts, delivery.latest_code,
  delivery.latest_failure, delivery.problem, delivery.finished_at, due.due_at, due.tries, due.replay,
  case when due.claim is not null then due.claimed_at end as claimed_at`;

/*
 * The condition that lets a search use each index. `failed_code` is `latest_code` where `latest_failure` is not null. A
 * condition with `is null or`, as in `matches`, would read the whole index.
 */
const indexConditions: Readonly<Record<SearchIndex, string>> = {
  endpoint: "true",
  queue: "true",
  event: "event = $6",
  resource: "resource_id = $7",
  failure: "latest_failure = $8",
  problem: "problem = $9",
  // Matches a partial index: an index by problem has no order across two problems.
  problems: "problem in ('failing', 'failed')",
  code: "failed_code = $10",
};

/**
 * SQL for all conditions of a filter. It uses every parameter of the filter, so that all statements take the same ones.
 */
export const matches = `($6::text is null or event = $6) and ($7::text is null or resource_id = $7)
  and ($8::text is null or latest_failure = $8) and ($9::text is null or problem = $9)
  and ($10::smallint is null or latest_code between $10 and $11::smallint) and ($12::text is null or status = $12 or ($12 = 'unsuccessful' and problem in ('failing', 'failed')))`;

/** SQL for the range of time, and for the position behind which the search begins. */
const range = `created_on between $3::timestamptz::date and $4::timestamptz::date
  and created_at >= $3 and (created_at, id) < ($4, $5::text)`;

/** The SQL expressions for the endpoint, and for the maximum rows to read. */
interface Bounds {
  readonly endpoint: string;
  readonly limit: number | string;
}

/** SQL for the rows of an endpoint that a search reads, newest first, whether they match or not. */
function candidates(index: SearchIndex, { endpoint, limit }: Bounds): string {
  const order = `order by created_at desc, id desc limit ${limit}`;
  if (index !== "queue") {
    return `select * from webhook_deliveries
      where system_id = $1 and endpoint_id = ${endpoint} and ${indexConditions[index]} and ${range} ${order}`;
  }
  // Names the table of each column of `range`, because both tables have `created_on`.
  return `select delivery.* from (
      select delivery_id, created_on from webhook_queue where system_id = $1 and endpoint_id = ${endpoint}
      limit ${MAX_QUEUED_ROWS}) as queued
    cross join lateral (
      select * from webhook_deliveries
      where system_id = $1 and created_on = queued.created_on and id = queued.delivery_id limit 1) as delivery
    where ${range.replaceAll(/\b(created_on|created_at|id)\b/g, "delivery.$1")} ${order}`;
}

/**
 * Returns SQL for those of the first `limit` rows that match a filter, and for the last of the `limit` rows even if it does
 * not match. `n` numbers the rows that were read.
 */
export function found(index: SearchIndex, bounds: Bounds): string {
  return `select * from (
      select candidate.*, row_number() over (order by created_at desc, id desc) as n
      from (${candidates(index, bounds)}) as candidate) as searched
    where (${matches}) or n = ${bounds.limit}`;
}

/**
 * Returns one statement for each index. A single statement for all indexes would have to be planned anew for the values of
 * each call.
 */
export function forEachIndex(make: (index: SearchIndex) => Statement): Readonly<Record<SearchIndex, Statement>> {
  return {
    resource: make("resource"),
    code: make("code"),
    failure: make("failure"),
    problem: make("problem"),
    problems: make("problems"),
    queue: make("queue"),
    event: make("event"),
    endpoint: make("endpoint"),
  };
}

/**
 * Returns the parameters $1 to $12 of a search's statements.
 * @param endpoints the ids, or the one id, as the statement takes them
 */
export function searchValues(
  { systemId, filter, since, before }: SearchRange,
  endpoints: string | readonly string[],
): unknown[] {
  const { event = null, resourceId = null, status, code } = filter;
  const [lowest, highest] = code === undefined ? [null, null] : codeRange(code);
  const problem = problemOf(status);
  // A status that the column `problem` does not have: `pending`, `succeeded` or `unsuccessful`.
  const plainStatus = problem === null ? (status ?? null) : null;
  return [
    systemId,
    endpoints,
    since,
    before.created_at,
    before.id,
    event,
    resourceId,
    failureAskedFor(filter),
    problem,
    lowest,
    highest,
    plainStatus,
  ];
}
