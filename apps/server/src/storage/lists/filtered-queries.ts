import type { PageRequest } from "@bikeshare/rules";
import type { QueryRunner } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { fetchSize, type FetchSize, joinRows, type PageRows, startOf } from "./page.ts";

/*
 * Counts and reads pages of filtered lists, by SQL that is made from the filter (`listFiltered`). The lists of rides and
 * reservations use it, and so do those of stations and bikes when their rows in memory cannot be used (id-ordered-queries.ts).
 */

/** A list that can be filtered. Its rows belong to the system $1, and `id` is unique in the system. */
export interface FilterableList<Position> {
  readonly table: string;
  /** The columns of the list's order, `id` last, all in one direction. */
  readonly order: readonly string[];
  readonly direction: "asc" | "desc";
  /** SQL that makes a row's JSON. */
  readonly json: string;
  /** Returns the placeholders of a position's values, one for each column of the order. */
  readonly placeholders: (position: Position, bind: Bind) => readonly string[];
}

/** Adds a value to the values of a statement and returns the value's placeholder. */
export type Bind = (value: unknown) => string;

/** The condition on rows: SQL alternatives (`branches`). A row meets at most one of them. */
export interface Filter {
  readonly branches: readonly string[];
  /** The values of the placeholders in the branches; the first value is the system. */
  readonly values: readonly unknown[];
  /** A cheaper way to count the rows than one by one. */
  readonly total?: Total;
  /**
   * The rows as alternatives, each of which one index returns in the list's order. The first page, and pages by cursor, are
   * read from these. A row may match several of them.
   */
  readonly indexed?: readonly string[] | undefined;
  /**
   * The name of its prepared statements, when one plan suits all values. Undefined: planned for each request. The rows of a
   * page by number, after the first one, are planned for each request in any case.
   */
  readonly name?: string | undefined;
}

/** Counts the rows of a filter. */
interface Total {
  /** The SQL. Its result is null if the number is not known after all. */
  readonly sql: string;
  /** The values of the filter, followed by further values of `sql`. */
  readonly values: readonly unknown[];
}

/** SQL that counts the rows of alternatives. */
export function countRows({ table }: Pick<FilterableList<never>, "table">, branches: readonly string[]): string {
  return branches.map((branch) => `(select count(*) from ${table} where ${branch})`).join(" + ");
}

/**
 * Returns a page of the rows that pass a filter. Unless the filter has a name, its statement is planned with its values, so
 * that a rare bike and a busy station each get the plan that suits them.
 */
export function listFiltered<Position>(
  db: QueryRunner,
  list: FilterableList<Position>,
  filter: Filter,
  request: PageRequest<Position>,
): Promise<PageRows> {
  const start = startOf(request);
  const size = fetchSize(request.limit);
  if ("after" in start) return listAfter(db, list, filter, start.after, size);
  return start.skip === 0 ? listFirst(db, list, filter, size) : listSkipping(db, list, filter, start.skip, size);
}

/** Returns the rows after a position: a page by cursor. */
async function listAfter<Position>(
  db: QueryRunner,
  list: FilterableList<Position>,
  filter: Filter,
  after: Position,
  size: FetchSize,
): Promise<PageRows> {
  const { branches, indexed } = filter;
  const values = [...filter.values];
  const position = list.placeholders(after, (value) => `$${values.push(value)}`).join(", ");
  const isAfter = `(${list.order.join(", ")}) ${list.direction === "asc" ? ">" : "<"} (${position})`;
  const onlyAfter = (branch: string) => `${branch} and ${isAfter}`;
  const rows = firstRowsOf(list, { branches: branches.map(onlyAfter), indexed: indexed?.map(onlyAfter) }, size);
  return oneRow(await db.query<PageRows>(namedStatement(filter, "after", size, rows), values));
}

/** Returns the first rows, and the number of all rows. */
async function listFirst(
  db: QueryRunner,
  list: FilterableList<never>,
  filter: Filter,
  size: FetchSize,
): Promise<PageRows> {
  const { sql, values } = totalOf(list, filter);
  const text = `select (${firstRowsOf(list, filter, size)}) as rows, ${sql} as total`;
  return oneRow(await db.query<PageRows>(namedStatement(filter, "first", size, text), values));
}

/**
 * Returns the rows of a page by number after the first, and the number of all rows. The length of a filtered list is not
 * stored, so the rows must be counted and skipped for each page. An index that contains the filtered columns is enough for
 * both; rows themselves are read only for the page.
 */
async function listSkipping(
  db: QueryRunner,
  list: FilterableList<never>,
  filter: Filter,
  skip: number,
  size: FetchSize,
): Promise<PageRows> {
  const { branches } = filter;
  const { sql, values } = totalOf(list, filter);
  const counted = await db.query<Pick<PageRows, "total">>(
    namedStatement(filter, "total", size, `select ${sql} as total`),
    values,
  );
  const { total } = oneRow(counted);
  if (total === null || skip >= total) return { total, rows: null };
  const limit = Math.min(size, total - skip);
  const rowsBehindPage = total - skip - limit;
  // Reaches a page in the second half of the list from the list's end, because fewer rows are skipped then.
  const page =
    rowsBehindPage < skip ? { branches, skip: rowsBehindPage, limit, fromEnd: true } : { branches, skip, limit };
  const read = oneRow(await db.query<Pick<PageRows, "rows">>(statement("", rowsOf(list, page)), filter.values));
  return { ...read, total };
}

/** Returns a statement that is prepared if the filter has a name. */
function namedStatement({ name }: Filter, kind: "after" | "first" | "total", size: FetchSize, text: string) {
  return statement(name === undefined ? "" : `${name}.${kind}.${size}`, text);
}

/** Returns how to count the rows of a filter: one by one, unless the filter has a cheaper way. */
function totalOf(list: FilterableList<never>, { total, branches, values }: Filter): Total {
  return total ?? { sql: countRows(list, branches), values };
}

/** Returns SQL that reads the first rows of a list. */
function firstRowsOf(
  list: Omit<FilterableList<never>, "placeholders">,
  { branches, indexed }: Pick<Filter, "branches" | "indexed">,
  limit: number,
): string {
  if (indexed === undefined) return rowsOf(list, { branches, skip: 0, limit });
  const { table, order, direction, json } = list;
  const inOrder = `${orderBy(order, direction)} limit ${limit}`;
  const rows = (branch: string) =>
    `select ${order.join(", ")}, ${json} as json from ${table} where ${branch} ${inOrder}`;
  const [only = "", ...others] = indexed.map(rows);
  if (others.length === 0) return joinRows(only);
  // PostgreSQL merges the branches in order, and reads no more rows of each branch than the page needs. A row that matches
  // several branches is returned once.
  const merged = [only, ...others].map((each) => `(${each})`).join(" union all ");
  return joinRows(`select distinct on (${order.join(", ")}) json from (${merged}) as candidates ${inOrder}`);
}

/** Returns SQL that sorts rows by columns, all in one direction. */
function orderBy(columns: readonly string[], direction: "asc" | "desc"): string {
  return `order by ${columns.map((column) => `${column} ${direction}`).join(", ")}`;
}

/** The rows of a filtered list that a page shows. */
interface PageRange {
  /** The condition on the list's rows, as `Filter.branches`. */
  readonly branches: readonly string[];
  /** Rows to skip. This number and the limit are computed here, so they may be written into the statement's text. */
  readonly skip: number;
  readonly limit: number;
  /** Whether to skip from the list's end. The rows are still returned in the list's order. */
  readonly fromEnd?: boolean;
}

/**
 * Returns SQL that reads also the rows that it skips: cheaper than `rowsOf` if they are few. Does the same as `rowsOf` for
 * several branches. Only the list of rides uses it.
 */
export function nearRowsOf(list: Omit<FilterableList<never>, "placeholders">, page: PageRange): string {
  const { table, order, direction, json } = list;
  const { branches, skip, limit, fromEnd = false } = page;
  const [branch, ...others] = branches;
  if (others.length > 0) return rowsOf(list, page);
  const columns = order.join(", ");
  if (!fromEnd)
    return joinRows(
      `select ${json} as json from ${table} where ${branch} ${orderBy(order, direction)} offset ${skip} limit ${limit}`,
    );
  const opposite = direction === "asc" ? "desc" : "asc";
  return joinRows(
    `select json from (select ${columns}, ${json} as json from ${table} where ${branch} ${orderBy(order, opposite)} offset ${skip} limit ${limit}) as found ${orderBy(order, direction)}`,
  );
}

/** Returns SQL that reads a page's rows: first finds their ids by an index alone, then reads the rows. Suits any skip. */
export function rowsOf(
  { table, order, direction, json }: Omit<FilterableList<never>, "placeholders">,
  page: PageRange,
): string {
  const { branches, skip, limit, fromEnd = false } = page;
  const opposite = direction === "asc" ? "desc" : "asc";
  const readOrder = orderBy(order, fromEnd ? opposite : direction);
  const [only, ...others] = branches;
  // Reads enough rows of each branch to include the page, however the branches' rows mix.
  const candidates = branches.map(
    (branch) => `(select ${order.join(", ")} from ${table} where ${branch} ${readOrder} limit ${skip + limit})`,
  );
  const ids =
    others.length === 0
      ? `select id from ${table} where ${only} ${readOrder} offset ${skip} limit ${limit}`
      : `select id from (${candidates.join(" union all ")}) as candidates ${readOrder} offset ${skip} limit ${limit}`;
  return joinRows(
    `select ${json} as json from ${table} where system_id = $1 and id = any(array(${ids})) ${orderBy(order, direction)}`,
  );
}
