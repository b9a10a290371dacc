import type { BoundingBox } from "@bikeshare/contract";
import type { CountedList } from "../counts/queries.ts";
import type { Queryable } from "../db/database.ts";
import type { Reader } from "../db/pipeline.ts";
import { onlyRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { type FilterableList, readFilteredList } from "./filtered-list.ts";
import { type FetchSize, joinRows, type ListRows } from "./rows.ts";
import type { PositionCodec, SliceStart } from "./slice.ts";

/** A condition on a column, with its value: `$n` stands where the value goes. */
export interface Condition {
  readonly sql: (placeholder: (value: unknown) => string) => string;
}

/** The statements of a list that is ordered by id. */
export interface IdOrderedList {
  /** A slice of the whole list. */
  read(reader: Reader, systemId: string, start: SliceStart<string>, size: FetchSize): Promise<ListRows>;
  /** A slice of the rows that pass conditions. */
  readFiltered(
    db: Queryable,
    systemId: string,
    conditions: readonly Condition[],
    start: SliceStart<string>,
    size: FetchSize,
  ): Promise<ListRows>;
  /** One row's JSON. */
  readOne(reader: Reader, systemId: string, id: string): Promise<string | undefined>;
}

/** Stations and bikes: some thousands of rows, ordered by id, of which a page is reached by stepping over those before. */
export function idOrderedList(table: Extract<CountedList, "stations" | "bikes">): IdOrderedList {
  const total = `(select coalesce(sum(n), 0)::bigint from list_counts where system_id = $1 and list = '${table}') as total`;
  const after = (size: FetchSize) =>
    statement(
      `${table}.after.${size}`,
      joinRows(`select json from ${table} where system_id = $1 and id > $2 order by id limit ${size}`),
    );
  const from = (size: FetchSize) =>
    statement(
      `${table}.from.${size}`,
      `select (${joinRows(
        `select json from ${table} where system_id = $1
           and id >= (select id from ${table} where system_id = $1 order by id offset $2::bigint limit 1)
         order by id limit ${size}`,
      )}) as rows, ${total}`,
    );
  const list: FilterableList<string> = {
    table,
    order: ["id"],
    direction: "asc",
    json: "json",
    placeholders: (id, bind) => [bind(id)],
  };
  const byId = statement(`${table}.byId`, `select json from ${table} where system_id = $1 and id = $2`);

  return {
    async read(reader, systemId, start, size) {
      if ("after" in start) return onlyRow(await reader.read<ListRows>(after(size), [systemId, start.after]));
      return onlyRow(await reader.read<ListRows>(from(size), [systemId, start.skip]));
    },
    readFiltered(db, systemId, conditions, start, size) {
      const values: unknown[] = [systemId];
      const bind = (value: unknown) => `$${values.push(value)}`;
      const branch = ["system_id = $1", ...conditions.map((condition) => condition.sql(bind))].join(" and ");
      return readFilteredList(db, list, { branches: [branch], values }, start, size);
    },
    async readOne(reader, systemId, id) {
      return (await reader.read<{ json: string }>(byId, [systemId, id]))[0]?.json;
    },
  };
}

/** `column = value`, `column >= value` and the like; `cast` where the value's type must be said. */
export function compare(column: string, operator: "=" | ">=" | "<=", value: unknown, cast = ""): Condition {
  return { sql: (placeholder) => `${column} ${operator} ${placeholder(value)}${cast}` };
}

/** A place within a rectangle of the map, its borders included; what has no place is in none. */
export function within({ west, south, east, north }: BoundingBox): Condition {
  return {
    sql: (placeholder) => {
      const [w, e] = [placeholder(west), placeholder(east)];
      // West of the antimeridian and east of it, where the rectangle lies across.
      const longitude = west <= east ? `lon between ${w} and ${e}` : `(lon >= ${w} or lon <= ${e})`;
      return `lat between ${placeholder(south)} and ${placeholder(north)} and ${longitude}`;
    },
  };
}

/** The position in a list that is ordered by id is the id. */
export const idPosition: PositionCodec<string> = {
  encode: (id) => id,
  decode: (text) => (text === "" ? undefined : text),
};
