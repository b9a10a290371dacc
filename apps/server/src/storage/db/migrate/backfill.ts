import { statement } from "../statement.ts";
import type { Runner } from "./queries.ts";
import { BATCH_CONDITION, type Step } from "./steps.rules.ts";

export type Backfill = Extract<Step, { readonly kind: "backfill" }>;

/**
 * How far a backfill has come: a system, and what else the primary key has of the last row. Of a system that is done, only
 * the system.
 */
export type Position = readonly string[];

/** One batch of a backfill. */
export interface Batch {
  readonly sql: string;
  readonly values: readonly string[];
  /** The position after it. */
  readonly end: Position;
}

/** A table's primary key after `system_id`. */
interface Key {
  readonly table: string;
  /** `rides.id` */
  readonly columns: readonly string[];
}

/**
 * The next batch of a backfill; undefined at its end. Batches go through one system after the other, so that each statement
 * names its system (a database that is spread over machines has a system's rows on one of them), in the order of the
 * primary key.
 */
export async function findBatch(
  db: Runner,
  backfill: Backfill,
  after: Position | null,
  batchRows: number,
): Promise<Batch | undefined> {
  const key = await findKey(db, backfill.table);
  if (after !== null && after.length > 1) {
    const batch = await findBatchIn(db, backfill, key, after, batchRows);
    if (batch !== undefined) return batch;
  }
  for (let system = await findSystem(db, after?.[0]); system !== null; system = await findSystem(db, system)) {
    const batch = await findBatchIn(db, backfill, key, [system], batchRows);
    if (batch !== undefined) return batch;
  }
  return undefined;
}

/** The next batch within a system. */
async function findBatchIn(
  db: Runner,
  { sql }: Backfill,
  key: Key,
  after: Position,
  batchRows: number,
): Promise<Batch | undefined> {
  if ((await findRow(db, key, after, 0)) === undefined) return undefined;
  // Without one the batch has all that is left of the system.
  const end = await findRow(db, key, after, batchRows - 1);
  const upper = end === undefined ? "" : ` and ${compare(key, "<=", after.length + 1)}`;
  return {
    sql: sql.replaceAll(BATCH_CONDITION, `(${isAfter(key, after)}${upper})`),
    values: [...after, ...(end ?? [])],
    end: [...after.slice(0, 1), ...(end ?? [])],
  };
}

/** The key of the row that comes so many rows after a position. */
async function findRow(db: Runner, key: Key, after: Position, offset: number): Promise<readonly string[] | undefined> {
  const { table, columns } = key;
  const text = `select array[${columns.map((column) => `${column}::text`).join(", ")}] as key from ${table}
    where ${isAfter(key, after)} order by ${columns.join(", ")} offset ${offset} limit 1`;
  const [row] = await db.query<{ key: string[] }>(statement("", text), after);
  return row?.key;
}

/** The condition on rows after a position, whose values are the first parameters. */
function isAfter(key: Key, after: Position): string {
  const system = `${key.table}.system_id = $1`;
  return after.length === 1 ? system : `${system} and ${compare(key, ">", 2)}`;
}

function compare({ columns }: Key, operator: string, firstParameter: number): string {
  const parameters = columns.map((_, index) => `$${firstParameter + index}`);
  return `(${columns.join(", ")}) ${operator} (${parameters.join(", ")})`;
}

async function findSystem(db: Runner, after: string | undefined): Promise<string | null> {
  const next = statement("", "select min(system_id) as id from systems where system_id > $1");
  const [row] = await db.query<{ id: string | null }>(next, [after ?? ""]);
  return row?.id ?? null;
}

const keyColumns = statement(
  "",
  `select attname as name from pg_index i
     cross join lateral unnest(i.indkey) with ordinality as k (attnum, n)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
   where i.indrelid = $1::text::regclass and i.indisprimary order by k.n`,
);

async function findKey(db: Runner, table: string): Promise<Key> {
  const [first, ...rest] = (await db.query<{ name: string }>(keyColumns, [table])).map(({ name }) => name);
  if (first !== "system_id" || rest.length === 0) {
    throw new Error(`A backfill needs a primary key of system_id and more; update ${table} in a transaction instead.`);
  }
  return { table, columns: rest.map((name) => `${table}.${name}`) };
}
