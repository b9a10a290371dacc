import type { PageRequest } from "@bikeshare/rules";
import type { CountedList } from "../../city/counts/queries.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Condition } from "./conditions.ts";
import { type Filter, type FilterableList, listFiltered } from "./filtered-queries.ts";
import { toPage, type FetchSize, fetchSize, joinRows, jsonField, type Page, type PageRows, startOf } from "./page.ts";
import type { ListReader, ReadContext } from "./read-context.ts";

/** A list that is ordered by id. */
export interface IdOrderedList {
  /** A page of the whole list, or of the rows that meet every condition given. */
  list(
    context: ReadContext,
    whose: ListReader,
    conditions: readonly Condition[],
    request: PageRequest<string>,
  ): Promise<Page<string>>;
  /** One row's JSON. */
  find(readPool: ReadPool, systemId: string, id: string): Promise<string | undefined>;
}

/** Stations and bikes: some thousands of rows, so that a page by number is reached by skipping those before it. */
export function listById(table: Extract<CountedList, "stations" | "bikes">): IdOrderedList {
  const { after, skipping, byId } = statementsOf(table);
  const filterable: FilterableList<string> = {
    table,
    order: ["id"],
    direction: "asc",
    json: "json",
    placeholders: (id, bind) => [bind(id)],
  };

  async function listAll(readPool: ReadPool, systemId: string, request: PageRequest<string>): Promise<PageRows> {
    const start = startOf(request);
    const size = fetchSize(request.limit);
    if ("after" in start) return oneRow(await readPool.read<PageRows>(after(size), [systemId, start.after]));
    return oneRow(await readPool.read<PageRows>(skipping(size), [systemId, start.skip]));
  }
  return {
    async list({ readPool, filtered }, whose, conditions, request) {
      const { systemId } = whose;
      const rows =
        conditions.length === 0
          ? await listAll(readPool, systemId, request)
          : await filtered.read(whose, (db) => listFiltered(db, filterable, filterOf(systemId, conditions), request));
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
