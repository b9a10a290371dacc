import type { Filter as ListFilter, PageRequest } from "@bikeshare/rules";
import type { CountedList } from "../../city/counts/queries.ts";
import type { QueryRunner } from "../db/database.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { type Condition, conditionsOf, type FilterValues, sievesOf } from "./conditions.ts";
import { fetchSize, type FetchSize, joinRows, jsonField, type Page, type PageRows, startOf, toPage } from "./page.ts";
import type { ListReader, ReadContext } from "./read-context.ts";
import { rememberableList, rememberedColumns } from "./remembered-queries.ts";

/*
 * Reads pages of lists. `listFiltered` counts and reads a filtered list by SQL that is made from its filter. The services of
 * rides and reservations call it, and so does `listById`, which is the whole list of stations and of bikes: it first tries
 * rows in memory (row-memory.ts), and reads an unfiltered list without counting.
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
  const inOrder = `order by ${order.map((column) => `${column} ${direction}`).join(", ")} limit ${limit}`;
  const rows = (branch: string) =>
    `select ${order.join(", ")}, ${json} as json from ${table} where ${branch} ${inOrder}`;
  const [only = "", ...others] = indexed.map(rows);
  if (others.length === 0) return joinRows(only);
  // PostgreSQL merges the branches in order, and reads no more rows of each branch than the page needs. A row that matches
  // several branches is returned once.
  const merged = [only, ...others].map((each) => `(${each})`).join(" union all ");
  return joinRows(`select distinct on (${order.join(", ")}) json from (${merged}) as candidates ${inOrder}`);
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
  const ordered = (way: "asc" | "desc") => `order by ${order.map((column) => `${column} ${way}`).join(", ")}`;
  const columns = order.join(", ");
  if (!fromEnd)
    return joinRows(
      `select ${json} as json from ${table} where ${branch} ${ordered(direction)} offset ${skip} limit ${limit}`,
    );
  const opposite = direction === "asc" ? "desc" : "asc";
  return joinRows(
    `select json from (select ${columns}, ${json} as json from ${table} where ${branch} ${ordered(opposite)} offset ${skip} limit ${limit}) as found ${ordered(direction)}`,
  );
}

/** Returns SQL that reads a page's rows: first finds their ids by an index alone, then reads the rows. Suits any skip. */
export function rowsOf(
  { table, order, direction, json }: Omit<FilterableList<never>, "placeholders">,
  page: PageRange,
): string {
  const { branches, skip, limit, fromEnd = false } = page;
  const ordered = (way: "asc" | "desc") => `order by ${order.map((column) => `${column} ${way}`).join(", ")}`;
  const opposite = direction === "asc" ? "desc" : "asc";
  const readOrder = ordered(fromEnd ? opposite : direction);
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
    `select ${json} as json from ${table} where system_id = $1 and id = any(array(${ids})) ${ordered(direction)}`,
  );
}

/** A list that is ordered by id. */
export interface IdOrderedList<Name extends string> {
  /** A page of the whole list, or of the rows that pass every filter given. */
  list(
    context: ReadContext,
    whose: ListReader,
    filters: FilterValues<Name>,
    request: PageRequest<string>,
  ): Promise<Page<string>>;
  /** One row's JSON. */
  find(readPool: ReadPool, systemId: string, id: string): Promise<string | undefined>;
}

/** Creates the list of stations or bikes. A page by number is reached by skipping rows, as there are only some thousands. */
export function listById<Name extends string>(
  table: Extract<CountedList, "stations" | "bikes">,
  filters: Readonly<Record<Name, ListFilter>>,
): IdOrderedList<Name> {
  const statements = statementsOf(table);
  const filterable: FilterableList<string> = {
    table,
    order: ["id"],
    direction: "asc",
    json: "json",
    placeholders: (id, bind) => [bind(id)],
  };
  const remembered = rememberableList({
    table,
    ofOwner: "system_id = $1",
    ownerParameters: 1,
    direction: "asc",
    json: "json",
    columns: rememberedColumns(filters),
  });
  return {
    async list({ readPool, filtered, rowMemory }, whose, given, request) {
      const { systemId } = whose;
      const conditions = conditionsOf(filters, given);
      const pageOf = (rows: PageRows) => toPage(request, rows, (json) => jsonField(json, "id"));
      if (conditions.length === 0) return pageOf(await listAll(statements, readPool, systemId, request));
      // A filtered list is counted in memory, or by the database if memory has no answer.
      const fromMemory = await rowMemory?.page(remembered, {
        ...whose,
        parameters: [systemId],
        request,
        // In memory, rows of a list that is ordered by id alone have the time 0.
        keyOf: (id: string) => ({ time: 0, id }),
        // Sieves are the filters as functions that test rows in memory.
        sieves: (known) => sievesOf(known, filters, given),
      });
      if (fromMemory !== undefined) return pageOf(fromMemory);
      const filter = filterOf(systemId, conditions);
      return pageOf(await filtered.read(whose, (db) => listFiltered(db, filterable, filter, request)));
    },
    async find(readPool, systemId, id) {
      return (await readPool.read<{ json: string }>(statements.byId, [systemId, id]))[0]?.json;
    },
  };
}

/** Returns a page of a whole list. Its length is stored, so nothing is counted. */
async function listAll(
  { after, skipping }: ReturnType<typeof statementsOf>,
  readPool: ReadPool,
  systemId: string,
  request: PageRequest<string>,
): Promise<PageRows> {
  const start = startOf(request);
  const size = fetchSize(request.limit);
  if ("after" in start) return oneRow(await readPool.read<PageRows>(after(size), [systemId, start.after]));
  return oneRow(await readPool.read<PageRows>(skipping(size), [systemId, start.skip]));
}

/** Returns the statements for an unfiltered list: a page after an id, a page after a number of rows, and one row. */
function statementsOf(table: string) {
  const total = `(select coalesce(sum(n), 0)::bigint from list_counts where system_id = $1 and list = '${table}') as total`;
  return {
    after: (size: FetchSize) =>
      statement(
        `${table}.listAfter.${size}`,
        joinRows(`select json from ${table} where system_id = $1 and id > $2 order by id limit ${size}`),
      ),
    skipping: (size: FetchSize) =>
      statement(
        `${table}.listSkipping.${size}`,
        `select (${joinRows(
          `select json from ${table} where system_id = $1
             and id >= (select id from ${table} where system_id = $1 order by id offset $2::bigint limit 1)
           order by id limit ${size}`,
        )}) as rows, ${total}`,
      ),
    byId: statement(`${table}.find`, `select json from ${table} where system_id = $1 and id = $2`),
  };
}

/** Returns the filter that requires all of the conditions. */
function filterOf(systemId: string, conditions: readonly Condition[]): Filter {
  const values: unknown[] = [systemId];
  const placeholder = (value: unknown) => `$${values.push(value)}`;
  return { branches: [["system_id = $1", ...conditions.map((each) => each(placeholder))].join(" and ")], values };
}
