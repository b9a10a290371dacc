import type { Filter as ListFilter, PageRequest } from "@bikeshare/rules";
import type { CountedList } from "../../city/counts/queries.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { type Condition, conditionsOf, type FilterValues } from "./conditions.ts";
import { type Filter, type FilterableList, listFiltered } from "./filtered-queries.ts";
import { type FetchSize, fetchSize, joinRows, jsonField, type Page, type PageRows, startOf, toPage } from "./page.ts";
import type { ListReader, ReadContext } from "./read-context.ts";
import { rememberableList, rememberedColumns } from "./remembered-queries.ts";
import { sievesOf } from "./sieves.ts";

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

/** Stations and bikes: some thousands of rows, so that a page by number is reached by skipping those before it. */
export function listById<Name extends string>(
  table: Extract<CountedList, "stations" | "bikes">,
  filters: Readonly<Record<Name, ListFilter>>,
): IdOrderedList<Name> {
  const { after, skipping, byId } = statementsOf(table);
  const filterable: FilterableList<string> = {
    table,
    order: ["id"],
    direction: "asc",
    json: "json",
    placeholders: (id, bind) => [bind(id)],
  };
  const remembered = rememberableList({
    ...{ table, whose: "system_id = $1", parameters: 1 },
    ...{ direction: "asc", json: "json", columns: rememberedColumns(filters) },
  });

  async function listAll(readPool: ReadPool, systemId: string, request: PageRequest<string>): Promise<PageRows> {
    const start = startOf(request);
    const size = fetchSize(request.limit);
    if ("after" in start) return oneRow(await readPool.read<PageRows>(after(size), [systemId, start.after]));
    return oneRow(await readPool.read<PageRows>(skipping(size), [systemId, start.skip]));
  }
  return {
    async list({ readPool, filtered, rowMemory }, whose, given, request) {
      const { systemId } = whose;
      const conditions = conditionsOf(filters, given);
      const rows =
        conditions.length === 0
          ? await listAll(readPool, systemId, request)
          : ((await rowMemory?.page(remembered, {
              ...whose,
              ...{ owner: [systemId], request, keyOf: (id: string) => ({ time: 0, id }) },
              sieves: (known) => sievesOf(known, filters, given),
            })) ??
            (await filtered.read(whose, (db) =>
              listFiltered(db, filterable, filterOf(systemId, conditions), request),
            )));
      return toPage(request, rows, (json) => jsonField(json, "id"));
    },
    async find(readPool, systemId, id) {
      return (await readPool.read<{ json: string }>(byId, [systemId, id]))[0]?.json;
    },
  };
}

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

/** All of the conditions, with their values. */
function filterOf(systemId: string, conditions: readonly Condition[]): Filter {
  const values: unknown[] = [systemId];
  const placeholder = (value: unknown) => `$${values.push(value)}`;
  return { branches: [["system_id = $1", ...conditions.map((each) => each(placeholder))].join(" and ")], values };
}
