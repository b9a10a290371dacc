import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement, type Statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { isTest } from "../queue/sql-fragments.ts";
import type { SearchIndex } from "./delivery-filter.rules.ts";
import { findSearchIndex, updateSearchSettings } from "./delivery-queries.ts";
import { type EndpointSearch, forEachIndex, found, searchValues } from "./search-sql-fragments.ts";

/*
 * Statements that choose deliveries for a bulk resend, by a filter or by their ids, and record it. A bulk resend is stored
 * as a replay with `is_choice`, and its deliveries as the replay's items. The fragment `found` of search-sql-fragments.ts
 * selects the rows of a search and numbers them (`n`). It uses the parameters $1 to $12 of `searchValues`.
 */

/** A resend as it is stored. */
export type BulkResendRow = Pick<
  Tables["webhook_replays"],
  "id" | "total" | "queued" | "skipped" | "is_stopped" | "created_at" | "finished_at"
>;

const resendColumns = "id, total, queued, skipped, is_stopped, created_at, finished_at";

/** Maximum deliveries that one resend sends, and maximum rows that are read to find them. */
export const MAX_RESENDS = 100_000;
const MAX_LOOKED_AT = 500_000;

/*
 * Leaves out tests, which are sent only once, and pending deliveries without a failure, which are sent anyway. A pending
 * delivery with a failure may wait for hours: the resend makes its next attempt due at once.
 */
const isResendable = `(status <> 'pending' or latest_failure is not null) and not ${isTest("id")}`;

/**
 * SQL for the deliveries that a filter chooses. `is_end` marks the last row that may be read: more may match behind it. One
 * more than MAX_RESENDS is chosen, so that a count shows that there are too many.
 */
const chosenBy = (index: SearchIndex) => `
  select created_on, id, n = ${MAX_LOOKED_AT} as is_end
  from (${found(index, { endpoint: "$2", limit: MAX_LOOKED_AT })}) as delivery
  where ${isResendable} or n = ${MAX_LOOKED_AT} limit ${MAX_RESENDS + 1}`;
const chosenByIds = `
  select created_on, id, false as is_end from webhook_deliveries
  where system_id = $1 and endpoint_id = $2 and created_on = any($3::date[]) and id = any($4::text[]) and ${isResendable}`;

const countOf = (name: string, chosen: string): Statement =>
  statement(
    `bulkResends.count.${name}`,
    `select count(*) as total, coalesce(bool_or(is_end), false) as is_cut from (${chosen}) as chosen`,
  );

// One statement counts and writes, in one snapshot: the count equals the number of recorded items. The insert's own
// parameters begin at $13.
const insertOf = (name: string, chosen: string): Statement =>
  statement(
    `bulkResends.insert.${name}`,
    `with items as (
       insert into webhook_replay_items (system_id, replay_id, created_on, delivery_id)
       select $1, $13, created_on, id from (${chosen}) as chosen where not is_end
       returning 1)
     insert into webhook_replays (system_id, id, endpoint_id, since, until, total, is_choice, created_at, finished_at)
     select $1, $13, $2, $14, $15, total, true, $15, case when total = 0 then $15::timestamptz end
     from (select count(*) as total from items) as counted
     returning ${resendColumns}`,
  );

const counts = forEachIndex((index) => countOf(index, chosenBy(index)));
const inserts = forEachIndex((index) => insertOf(index, chosenBy(index)));
const countIds = countOf("ids", chosenByIds);
/** Has as many parameters as a search, so that the later ones have the same numbers. $5 to $12 are always null. */
const insertIds = insertOf("ids", `${chosenByIds} and coalesce($5, $6, $7, $8, $9, $10, $11, $12::text) is null`);

/** Deliveries of an endpoint by their ids, on the days on which they may have been created. */
export interface NamedDeliveries {
  readonly systemId: string;
  readonly endpointId: string;
  readonly ids: readonly string[];
  readonly days: readonly string[];
}

/** How many deliveries a resend of a choice would send. */
export interface CountedChoice {
  readonly total: number;
  /** A resend of all chosen deliveries would read more rows than the limit. */
  readonly is_cut: boolean;
}

/** Returns how many deliveries a resend would send. */
export async function countChosen(db: Queryable, choice: EndpointSearch | NamedDeliveries): Promise<CountedChoice> {
  if ("ids" in choice) return oneRow(await db.query<CountedChoice>(countIds, idValues(choice)));
  return db.transaction(async (tx) => {
    await updateSearchSettings(tx);
    const index = await findSearchIndex(tx, { ...choice, endpointIds: [choice.endpointId] });
    return oneRow(await tx.query<CountedChoice>(counts[index], searchValues(choice, choice.endpointId)));
  });
}

/** Inserts a resend of the chosen deliveries. */
export async function insertBulkResend(
  tx: Transaction,
  choice: EndpointSearch | NamedDeliveries,
  { id, now }: { readonly id: string; readonly now: Date },
): Promise<BulkResendRow> {
  if ("ids" in choice) {
    const unused = Array.from({ length: 8 }, () => null);
    return oneRow(await tx.query<BulkResendRow>(insertIds, [...idValues(choice), ...unused, id, now, now]));
  }
  await updateSearchSettings(tx);
  const index = await findSearchIndex(tx, { ...choice, endpointIds: [choice.endpointId] });
  const values = [...searchValues(choice, choice.endpointId), id, choice.since, now];
  return oneRow(await tx.query<BulkResendRow>(inserts[index], values));
}

function idValues({ systemId, endpointId, days, ids }: NamedDeliveries): unknown[] {
  return [systemId, endpointId, days, ids];
}

const findToResend = statement(
  "bulkResends.find",
  `select ${resendColumns}, exists (
     select from webhook_replays earlier where earlier.system_id = $1 and earlier.endpoint_id = $2
       and earlier.finished_at is null and earlier.id < webhook_replays.id) as is_behind
   from webhook_replays where system_id = $1 and endpoint_id = $2 and id = $3 and is_choice`,
);

/** Returns a resend of an endpoint. `is_behind`: an earlier one is still being queued. */
export async function findBulkResend(
  db: Queryable,
  systemId: string,
  endpointId: string,
  id: string,
): Promise<(BulkResendRow & { readonly is_behind: boolean }) | undefined> {
  return (await db.query<BulkResendRow & { is_behind: boolean }>(findToResend, [systemId, endpointId, id]))[0];
}
