import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Condition } from "./conditions.ts";
import { type FetchSize, fetchSize, joinRows, jsonField, splitRows } from "./page.ts";
import type { ListReader, ReadContext } from "./read-context.ts";

/* Reads the changes of a list since a position, page by page, for programs that keep a copy of the list. */

/** A position in the order of changes. */
export interface ChangePosition {
  /** The `change_position` of the row. */
  readonly at: number;
  readonly id: string;
}

/** The range of changes on a page. */
export interface ChangeRange {
  /** The position at which the range begins. */
  readonly since: number;
  /** The last position of the range. A walk ends there, even if rows go on changing. */
  readonly upto: number;
  /** The last item of the previous page, behind which this page begins; undefined: the first page. */
  readonly after: ChangePosition | undefined;
  readonly limit: number;
}

/** A page of changes. */
export interface ChangePage {
  /** The items' JSON texts, with commas between. */
  readonly items: string;
  /** The position of the last item, if more items follow. */
  readonly next: ChangePosition | undefined;
}

/** Where changed rows are read from: each row has a `change_position`, an `id` and its JSON. */
interface ChangedRows {
  readonly table: string;
  /** SQL that makes a row's JSON. */
  readonly json: string;
  /** SQL condition that selects the rows. Its placeholders stand for `ChangeSource.values`. */
  readonly condition: string;
  /**
   * Whether the rows changed by the clock alone, such as a reservation whose time is over. No statement has given them a new
   * position, so rows with positions before the range are read.
   */
  readonly isByClock?: boolean;
  /** Whether filters are not applied, because the table lacks their columns. */
  readonly isUnfiltered?: boolean;
}

/** The source of a list's changes. */
export interface ChangeSource {
  /** The name of the statement. */
  readonly name: string;
  readonly rows: readonly ChangedRows[];
  /** The values of the rows' conditions: first the system, then the owner of the rows. */
  readonly values: readonly unknown[];
  /** Further conditions on the rows. */
  readonly filters: readonly Condition[];
}

/** The result of the statement. */
interface FoundChanges {
  readonly rows: string | null;
  /** The position of the last item of a full page; null: the page is not full. */
  readonly last_at: number | null;
}

/**
 * Returns a page of changes, in the order of their positions. Counts nothing, and reads each table by an index in this
 * order, so that a page costs only its own rows. If nothing has changed, no statement runs, except for rows that change by
 * the clock. With filters the read may skip many rows, so it uses the connections of filtered lists.
 */
export async function listChanges(
  { readPool, filtered }: ReadContext,
  whose: ListReader,
  source: ChangeSource,
  range: ChangeRange,
): Promise<ChangePage> {
  const hasNothingNew = range.upto < range.since && !source.rows.some(({ isByClock = false }) => isByClock);
  if (hasNothingNew) return { items: "", next: undefined };
  if (source.filters.length > 0) return filtered.read(whose, (db) => readPage(db, source, range));
  return readPage({ query: (prepared, values = []) => readPool.read(prepared, values) }, source, range);
}

/** Reads the items of a page, and one more that shows whether another page follows. */
async function readPage(db: QueryRunner, source: ChangeSource, range: ChangeRange): Promise<ChangePage> {
  const { since, upto, after, limit } = range;
  const size = fetchSize(limit);
  // `from` is the only lower bound in the statement: with two, PostgreSQL may begin to read the index at the lower one.
  // Rows that changed by the clock alone may have positions before `since`. After a page that ended with such a row, all
  // other rows still begin at `since`.
  const from = after === undefined || after.at < since ? { at: since, id: "" } : after;
  const values = [...source.values, upto, limit, from.at, from.id];
  // 0 and the empty id: the first page begins before every row.
  if (source.rows.some(({ isByClock = false }) => isByClock)) values.push(since, after?.at ?? 0, after?.id ?? "");
  const found = oneRow(await db.query<FoundChanges>(statementOf(source, values, size), values));
  const { items, lastOfMore } = splitRows(found.rows, limit);
  if (lastOfMore === undefined) return { items, next: undefined };
  if (found.last_at === null) throw new Error("a page of changes that goes on has no last position");
  return { items, next: { at: found.last_at, id: jsonField(lastOfMore, "id") } };
}

/** @param values the values of the conditions; the values of the filters are added to it */
function statementOf(source: ChangeSource, values: unknown[], size: FetchSize) {
  const { name, rows, filters } = source;
  // The placeholders of the values that `readPage` adds to the values of the conditions, in the same order. The last
  // three are for rows that changed by the clock alone.
  const placeholder = (number: number) => `$${source.values.length + number}`;
  const [upto, limit, at, id] = [placeholder(1), placeholder(2), placeholder(3), placeholder(4)];
  const [since, clockAt, clockId] = [placeholder(5), placeholder(6), placeholder(7)];
  const conditions = filters.map((condition) => ` and ${condition((value) => `$${values.push(value)}`)}`).join("");
  const inOrder = `order by change_position, id limit ${size}`;
  const selects = rows.map(({ table, json, condition, isByClock = false, isUnfiltered = false }) => {
    const positions = isByClock
      ? `change_position < ${since}::bigint and (change_position, id) > (${clockAt}::bigint, ${clockId}::text)`
      : `change_position > 0 and change_position <= ${upto}::bigint and (change_position, id) > (${at}::bigint, ${id}::text)`;
    return `(select change_position, id, ${json} as json from ${table}
      where ${condition}${isUnfiltered ? "" : conditions} and ${positions} ${inOrder})`;
  });
  const text = `
    with page as materialized (
      select * from (${selects.join(" union all ")}) as changed ${inOrder})
    select (${joinRows("select json from page")}) as rows,
      (select change_position from page offset ${limit}::bigint - 1 limit 1) as last_at`;
  return statement(filters.length > 0 ? "" : `${name}.changes.${size}`, text);
}
