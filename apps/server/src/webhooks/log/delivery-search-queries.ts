import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { IS_DISTRIBUTED } from "../../storage/db/sql-fragments.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
import { type SearchIndex, searchIndexFor } from "./delivery-filter.rules.ts";
import type { DeliveryRow } from "./delivery-queries.ts";
import {
  deliveryColumns,
  type DeliveryPosition,
  type DeliverySearch,
  forEachIndex,
  found,
  matches,
  MAX_QUEUED_ROWS,
  MAX_SEARCHED_ROWS,
  searchValues,
} from "./search-sql-fragments.ts";

// The last of the rows that may be read is returned whether it matches or not: the next page begins behind it.
const pageOf = (index: SearchIndex): Statement =>
  statement(
    `deliveries.search.${index}`,
    `select ${deliveryColumns}, (${matches}) as is_match, delivery.n = ${MAX_SEARCHED_ROWS} as is_last_searched
     from (${found(index, MAX_SEARCHED_ROWS, `or n = ${MAX_SEARCHED_ROWS}`)} limit $13) as delivery
     left join webhook_queue due on due.system_id = $1 and due.delivery_id = delivery.id
     order by delivery.created_at desc, delivery.id desc`,
  );

const pages = forEachIndex(pageOf);

/**
 * Returns the statement that finds a page by an index. Its parameters: those of `searchValues`, and the most rows to
 * return.
 */
export function findPageStatement(index: SearchIndex): Statement {
  return pages[index];
}

// A plan that sorts reads everything that an index gives before it returns the first row, and most often looks cheaper: to
// PostgreSQL, which does not know how much that is for the values of one call. One plan for all values, because planning
// takes longer than a search does.
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

/** Rows that a search has found, and where it stopped. */
export interface FoundRows {
  readonly rows: readonly DeliveryRow[];
  /** The position at which the search gave up before it found enough; null: it has read everything, or found enough. */
  readonly stoppedAt: DeliveryPosition | null;
}

interface SearchedRow extends DeliveryRow {
  readonly is_match: boolean;
  readonly is_last_searched: boolean;
}

/** Deliveries that a filter lets through, newest first, `limit` at most. Reads no more than MAX_SEARCHED_ROWS rows. */
export async function listFoundDeliveries(db: Queryable, search: DeliverySearch, limit: number): Promise<FoundRows> {
  const searched = await db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    const index = await findSearchIndex(tx, search);
    return tx.query<SearchedRow>(pages[index], [...searchValues(search), limit]);
  });
  const last = searched.at(-1);
  const rows = searched.flatMap(({ is_match, is_last_searched: _, ...row }) => (is_match ? [row] : []));
  return { rows, stoppedAt: rows.length < limit && last?.is_last_searched === true ? last : null };
}

const queued = statement(
  "deliveries.queued",
  `select count(*) as n from (
     select from webhook_queue where system_id = $1 and endpoint_id = $2 limit ${MAX_QUEUED_ROWS + 1}) as first`,
);

/**
 * Returns the index for a search. It uses the queue only while that is short: a long queue consists of the newest
 * deliveries, which a search meets first.
 */
export async function findSearchIndex(
  db: Queryable,
  { systemId, endpointId, filter }: DeliverySearch,
): Promise<SearchIndex> {
  const index = searchIndexFor(filter);
  if (index !== "queue") return index;
  const { n } = oneRow(await db.query<{ n: number }>(queued, [systemId, endpointId]));
  return n <= MAX_QUEUED_ROWS ? "queue" : "endpoint";
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

/** Returns the nearest delivery that fails or was given up, in one direction. */
export async function findNextProblem(
  db: Queryable,
  { systemId, endpointId }: Pick<DeliverySearch, "systemId" | "endpointId">,
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
