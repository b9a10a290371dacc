import type { Filter as ListFilter, PageRequest } from "@bikeshare/rules";
import type { CountedList } from "../../city/counts/queries.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { type Condition, conditionsOf, type FilterValues, sievesOf } from "./conditions.ts";
import { type Filter, type FilterableList, listFiltered } from "./filtered-queries.ts";
import { fetchSize, type FetchSize, joinRows, jsonField, type Page, type PageRows, startOf, toPage } from "./page.ts";
import type { ListReader, ReadContext } from "./read-context.ts";
import { rememberableList, rememberedColumns } from "./remembered-queries.ts";

/*
 * The lists of stations and of bikes, which are ordered by id (`listById`). The length of an unfiltered list is stored. A
 * filtered list is counted from rows in memory (row-memory.ts), or by the database if memory has no answer
 * (filtered-queries.ts).
 */

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
