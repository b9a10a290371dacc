import type { Queryable } from "../../db/database.ts";
import { oneRow } from "../../db/rows.ts";
import { type Statement, statement } from "../../db/statement.ts";
import {
  codeRange,
  type DeliveryFilter,
  failureAskedFor,
  problemOf,
  type SearchIndex,
  searchIndexFor,
} from "./delivery-filter.rules.ts";
import { deliveryColumns, type DeliveryRow } from "./delivery-queries.ts";

/** A position in an endpoint's deliveries, which are ordered by when they were created, and then by id. */
export interface DeliveryPosition {
  readonly created_at: Date;
  readonly id: string;
}

/** A search in an endpoint's deliveries. */
export interface DeliverySearch {
  readonly systemId: string;
  readonly endpointId: string;
  readonly filter: DeliveryFilter;
  /** Created from then on. */
  readonly since: Date;
  /** Only those older than this. */
  readonly before: DeliveryPosition;
}

/**
 * Rows that one search reads at most. With fewer, filters that no index serves need more pages; with more, such a page
 * takes longer than 50 ms.
 */
export const MAX_SEARCHED_ROWS = 10_000;
/** Queued deliveries up to which pending ones are found by the queue, which has no order that a page could stop at. */
const MAX_QUEUED_ROWS = 5_000;

/* A column may only be compared with a value in the way that its index needs: `is null or` would read all of it. */
const indexConditions: Readonly<Record<SearchIndex, string>> = {
  endpoint: "true",
  queue: "true",
  event: "event = $6",
  resource: "resource_id = $7",
  failure: "latest_failure = $8",
  problem: "problem = $9",
  code: "failed_code = $10",
};

/** Every parameter of a search, so that all its statements take the same. */
const matches = `($6::text is null or event = $6) and ($7::text is null or resource_id = $7)
  and ($8::text is null or latest_failure = $8) and ($9::text is null or problem = $9)
  and ($10::smallint is null or latest_code between $10 and $11::smallint) and ($12::text is null or status = $12)`;

const range = `created_on between $3::timestamptz::date and $4::timestamptz::date
  and created_at >= $3 and (created_at, id) < ($4, $5::text)`;

/** SQL for the rows that a search looks at, newest first, `limit` at most. */
function candidates(index: SearchIndex, limit: number): string {
  const order = `order by created_at desc, id desc limit ${limit}`;
  if (index !== "queue") {
    return `select * from webhook_deliveries
      where system_id = $1 and endpoint_id = $2 and ${indexConditions[index]} and ${range} ${order}`;
  }
  return `select delivery.* from (
      select delivery_id, created_on from webhook_queue where system_id = $1 and endpoint_id = $2
      limit ${MAX_QUEUED_ROWS}) as queued
    cross join lateral (
      select * from webhook_deliveries
      where system_id = $1 and created_on = queued.created_on and id = queued.delivery_id limit 1) as delivery
    where ${range.replaceAll(/\b(created_on|created_at|id)\b/g, "delivery.$1")} ${order}`;
}

/** SQL for what a filter lets through of `limit` rows at most: `n` counts the rows that were read. */
export function found(index: SearchIndex, limit: number, orLast = ""): string {
  return `select * from (
      select candidate.*, row_number() over (order by created_at desc, id desc) as n
      from (${candidates(index, limit)}) as candidate) as searched
    where (${matches}) ${orLast}`;
}

// The last of the rows that may be read is returned whether it matches or not: the next page begins behind it.
const pageOf = (index: SearchIndex): Statement =>
  statement(
    `deliveries.search.${index}`,
    `select ${deliveryColumns}, (${matches}) as is_match, delivery.n = ${MAX_SEARCHED_ROWS} as is_last_searched
     from (${found(index, MAX_SEARCHED_ROWS, `or n = ${MAX_SEARCHED_ROWS}`)} limit $13) as delivery
     left join webhook_queue due on due.system_id = $1 and due.delivery_id = delivery.id
     order by delivery.created_at desc, delivery.id desc`,
  );

/** A statement for each index: one for all would have to be planned for each value. */
export function forEachIndex(make: (index: SearchIndex) => Statement): Readonly<Record<SearchIndex, Statement>> {
  return {
    resource: make("resource"),
    code: make("code"),
    failure: make("failure"),
    problem: make("problem"),
    queue: make("queue"),
    event: make("event"),
    endpoint: make("endpoint"),
  };
}

const pages = forEachIndex(pageOf);

/** Rows that a search has found, and where it stopped. */
export interface FoundRows {
  readonly rows: readonly DeliveryRow[];
  /** Where the search gave up before it had found enough; null: it has seen all there is, or found enough. */
  readonly stoppedAt: DeliveryPosition | null;
}

interface SearchedRow extends DeliveryRow {
  readonly is_match: boolean;
  readonly is_last_searched: boolean;
}

/** Deliveries that a filter lets through, newest first, `limit` at most. Reads no more than MAX_SEARCHED_ROWS rows. */
export async function listFoundDeliveries(db: Queryable, search: DeliverySearch, limit: number): Promise<FoundRows> {
  const index = await chooseIndex(db, search);
  const searched = await db.query<SearchedRow>(pages[index], [...searchValues(search), limit]);
  const last = searched.at(-1);
  const rows = searched.flatMap(({ is_match, is_last_searched: _, ...row }) => (is_match ? [row] : []));
  return { rows, stoppedAt: rows.length < limit && last?.is_last_searched === true ? last : null };
}

const queued = statement(
  "deliveries.queued",
  `select count(*) as n from (
     select from webhook_queue where system_id = $1 and endpoint_id = $2 limit ${MAX_QUEUED_ROWS + 1}) as first`,
);

/** By the queue only as long as that is short: a long one consists of the newest deliveries, which a search meets first. */
export async function chooseIndex(
  db: Queryable,
  { systemId, endpointId, filter }: DeliverySearch,
): Promise<SearchIndex> {
  const index = searchIndexFor(filter);
  if (index !== "queue") return index;
  const { n } = oneRow(await db.query<{ n: number }>(queued, [systemId, endpointId]));
  return n <= MAX_QUEUED_ROWS ? "queue" : "endpoint";
}

/** The parameters $1 to $12 of a search's statements. */
export function searchValues({ systemId, endpointId, filter, since, before }: DeliverySearch): unknown[] {
  const { event = null, resourceId = null, status, code } = filter;
  const [lowest, highest] = code === undefined ? [null, null] : codeRange(code);
  const problem = problemOf(status);
  const plainStatus = problem === null ? (status ?? null) : null;
  return [
    ...[systemId, endpointId, since, before.created_at, before.id],
    ...[event, resourceId, failureAskedFor(filter), problem, lowest, highest, plainStatus],
  ];
}

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

/** The nearest delivery that fails or was given up, in one direction. */
export async function findNextProblem(
  db: Queryable,
  { systemId, endpointId }: Pick<DeliverySearch, "systemId" | "endpointId">,
  from: DeliveryPosition,
  direction: "older" | "newer",
): Promise<string | null> {
  const values = [systemId, endpointId, from.created_at, from.id];
  return (await db.query<{ id: string }>(neighbours[direction], values))[0]?.id ?? null;
}
