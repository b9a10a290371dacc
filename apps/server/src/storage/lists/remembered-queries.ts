import type { Filter } from "@bikeshare/rules";
import type { QueryRunner } from "../db/database.ts";
import type { ReadPool } from "../db/read-pool.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";
import { joinRows } from "./page.ts";
import type { ColumnKind, ReadRows, RowKey } from "./sorted-rows.ts";

/* Statements that read lists into memory and keep them up to date there (row-memory.ts). */

/** A column that is kept in memory: the kind of its values, and SQL of a value. */
interface RememberedColumn {
  readonly kind: ColumnKind;
  readonly sql: string;
}

/** A list of which some columns are kept in memory (row-memory.ts). */
interface ListDefinition {
  readonly table: "stations" | "bikes" | "reservations";
  /** SQL condition for the rows of one owner: a system, or a partner in it. Uses all of $1 to $`ownerParameters`. */
  readonly ofOwner: string;
  /** The number of parameters of `ofOwner`, which are the first ones of each statement. */
  readonly ownerParameters: number;
  readonly direction: "asc" | "desc";
  /** The column that the list is ordered by, before the id; undefined: by the id alone. */
  readonly time?: string | undefined;
  /** The columns that are kept in memory for each row. */
  readonly columns: Readonly<Record<string, RememberedColumn>>;
  /** SQL that makes a row's JSON. May use the parameters of `ofOwner`. */
  readonly json: string;
}

/** A list of which some columns are kept in memory, with the statements that read it. */
export interface RememberableList extends Omit<ListDefinition, "ofOwner" | "ownerParameters" | "json"> {
  /** Reads rows behind a key, in the list's order. */
  readonly following: Statement;
  /** Reads the rows that have changed from a position on, and the ids of rows that were removed since then. */
  readonly changed: Statement;
  /** Reads rows by their ids. */
  readonly page: Statement;
}

/** The values of the parameters of `ofOwner`: the system first. */
export type FirstParameters = readonly unknown[];

/** Rows that one statement reads, in some ten milliseconds. Too high: blocks the process for longer. */
const CHUNK_ROWS = 10_000;

/** The rows that a statement has read, as one array for each column; null: there were none. */
interface ReadColumns {
  readonly ids: readonly string[] | null;
  readonly times: readonly number[] | null;
  readonly [column: string]: unknown;
}

/** The changes among rows in memory. */
export interface Changes {
  readonly rows: ReadRows;
  /** The `change_position` of each of these rows, in the same order. */
  readonly positions: readonly number[];
  readonly removed: readonly string[];
  /** How often rows were deleted without a record in `removed`. When the number grows, the list must be read anew. */
  readonly resets: number;
}

/** Returns the columns that filters compare. Each field of a filter is a column; `within` compares `lat` and `lon`. */
export function rememberedColumns(filters: Readonly<Record<string, Filter>>): RememberableList["columns"] {
  const columns = Object.values(filters).flatMap(([comparison, ...fields]): [string, RememberedColumn][] => {
    if (comparison === "within") return ["lat", "lon"].map((field) => [field, { kind: "number", sql: field }]);
    const isText = comparison === "equals";
    return fields.map((field) => [
      field,
      isText ? { kind: "text", sql: field } : { kind: "number", sql: inMilliseconds(field) },
    ]);
  });
  return Object.fromEntries(columns);
}

/** SQL: an instant as milliseconds since 1970. */
export const inMilliseconds = (column: string): string => `(extract(epoch from ${column}) * 1000)::bigint`;

/** Returns a list with the statements that read it into memory. */
export function rememberableList({ ofOwner, ownerParameters, json, ...list }: ListDefinition): RememberableList {
  const { table, columns, time } = list;
  const next = ownerParameters + 1;
  const names = Object.keys(columns);
  const times = time === undefined ? "0" : inMilliseconds(time);
  // `column_` keeps a column named `ids` or `times` apart from the arrays of that name.
  const read = [`${times} as times`, ...names.map((name) => `${columns[name]?.sql ?? name} as column_${name}`)];
  const columnArrays = names.map((name) => `json_agg(column_${name}) as column_${name}`);
  const arrays = ["json_agg(id) as ids", "json_agg(times) as times", ...columnArrays].join(", ");
  const order = time === undefined ? "id" : `${time}, id`;
  const [id, at] = [`$${next}::text`, `to_timestamp($${next + 1}::bigint / 1000.0)`];
  // All lists get the same parameters, and PostgreSQL needs each parameter in the text. Without a time, the second one is
  // only mentioned.
  const behind =
    time === undefined ? `id > ${id} and $${next + 1}::bigint is not null` : `(${time}, id) > (${at}, ${id})`;
  const inOrder = `where ${ofOwner} and ${behind} order by ${order} limit ${CHUNK_ROWS}`;
  const since = `$${next}::bigint`;
  // The index of change positions omits rows with 0, which have not changed since positions were introduced. With a lower and
  // an upper bound, a plan that is made for any values uses that index.
  const recent = `change_position > 0 and change_position >= ${since} and change_position <= ${Number.MAX_SAFE_INTEGER}`;
  // Removals are recorded only for bikes.
  const removed =
    table === "bikes" ? `(select json_agg(id) from removed_bikes where system_id = $1 and ${recent})` : "null::json";
  return {
    ...list,
    following: statement(
      `${table}.rememberedFollowing`,
      `select ${arrays} from (select id, ${read.join(", ")} from ${table} ${inOrder}) as found`,
    ),
    changed: statement(
      `${table}.rememberedChanges`,
      `select ${arrays}, json_agg(change_position) as positions, ${removed} as removed,
         coalesce((select n from change_resets where system_id = $1 and list = '${table}'), 0) as resets
       from (select id, change_position, ${read.join(", ")} from ${table} where ${ofOwner} and ${recent}) as found`,
    ),
    // Finds each row by its primary key alone and then checks its owner. With both in one condition, and without statistics,
    // PostgreSQL might choose another index, because all indexes look equally good.
    page: statement(
      `${table}.rememberedPage`,
      `with page as materialized (
         select place, id, change_position, ${json} as json
         from unnest($${next + 1}::text[]) with ordinality as wanted (row_id, place)
         cross join lateral (select * from ${table} where system_id = $1 and id = row_id limit 1) as found
         where ${ofOwner})
       select (${joinRows("select json from page order by place")}) as rows, (select count(*) from page) as n,
         (select json_agg(json_build_array(id, change_position)) from page where change_position >= ${since}) as recent`,
    ),
  };
}

/** Reads the next rows behind a key, in the list's order. */
export async function listFollowing(
  db: QueryRunner,
  list: RememberableList,
  parameters: FirstParameters,
  after: RowKey,
): Promise<{ readonly rows: ReadRows; readonly isMore: boolean }> {
  const rows = rowsOf(list, oneRow(await db.query<ReadColumns>(list.following, [...parameters, after.id, after.time])));
  return { rows, isMore: rows.ids.length === CHUNK_ROWS };
}

/** Reads the changes from a position on. */
export async function listChanged(
  readPool: ReadPool,
  list: RememberableList,
  parameters: FirstParameters,
  since: number,
): Promise<Changes> {
  type Found = ReadColumns & { positions: number[] | null; removed: string[] | null; resets: number };
  const found = oneRow(await readPool.read<Found>(list.changed, [...parameters, since]));
  const { positions, removed, resets } = found;
  return { rows: rowsOf(list, found), positions: positions ?? [], removed: removed ?? [], resets };
}

/** Reads a page's rows by ids. @returns also how many exist (`n`), and the positions of those changed from `since` on */
export async function listRemembered(
  readPool: ReadPool,
  list: RememberableList,
  parameters: FirstParameters,
  since: number,
  ids: readonly string[],
): Promise<{ readonly rows: string | null; readonly n: number; readonly recent: readonly [string, number][] }> {
  type Found = { rows: string | null; n: number; recent: [string, number][] | null };
  const found = oneRow(await readPool.read<Found>(list.page, [...parameters, since, ids]));
  return { ...found, recent: found.recent ?? [] };
}

/** Returns the read rows. */
function rowsOf({ columns }: RememberableList, found: ReadColumns): ReadRows {
  const read = Object.keys(columns).map((name) => [name, found[`column_${name}`] ?? []] as const);
  return { ids: found.ids ?? [], times: found.times ?? [], columns: Object.fromEntries(read) as ReadRows["columns"] };
}
