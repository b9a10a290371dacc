import { columnTypes, type Tables } from "./tables.generated.ts";

/** Converts the values of a column to a parameter of a statement: one array, with an element for each row. */
export interface ColumnType<Value> {
  /** PostgreSQL's name of the elements' type. */
  readonly type: string;
  /** Returns the array as a parameter for the driver. */
  encode(values: readonly Value[]): unknown;
}

/** The type of each column of a row. */
type ColumnTypes<Row> = { readonly [Name in keyof Row & string]-?: ColumnType<Row[Name]> };

/**
 * Some columns of a table, in one order. A statement on many rows takes its column list, its rows and its parameters from
 * here, so that the three always name the same columns.
 */
export interface Columns<Row> {
  readonly names: readonly (keyof Row & string)[];
  /** `id, number, …` @param alias of the table that has the columns: `b.id, b.number, …` */
  list(alias?: string): string;
  /** `number = w.number, …`, for `update … set`. @param from the alias of the relation that has the new values */
  assignments(from: string): string;
  /** `unnest($3::text[], …) as w (id, …)`: rows from one parameter for each column. @param first the first one's number */
  unnest(first: number, alias: string): string;
  /** The parameters of `unnest`. */
  arrays(rows: readonly Row[]): unknown[];
  /** `json_to_recordset($3::json) as w (id text, …)`: rows from one parameter, which is their JSON. */
  recordset(parameter: number, alias: string): string;
  only<Name extends keyof Row & string>(...names: Name[]): Columns<Pick<Row, Name>>;
  without<Name extends keyof Row & string>(...names: Name[]): Columns<Omit<Row, Name>>;
  /** Adds columns. A column of the same name is replaced by the one with the new type. */
  and<More>(types: ColumnTypes<More>): Columns<Omit<Row, keyof More> & More>;
}

/** The type of a row that has the columns. */
export type RowOf<Of> = Of extends Columns<infer Row> ? Row : never;

/** Returns a column type whose arrays the driver encodes by itself. */
export function arrayOf<Value>(type: string): ColumnType<Value | null> {
  return { type, encode: (values) => values };
}

/** Creates columns, in the given order, from the type of each. */
export function columnsOf<Row>(types: ColumnTypes<Row>): Columns<Row> {
  const names = Object.keys(types) as (keyof Row & string)[]; // the object has exactly the keys of its type
  const where = (isKept: (name: string) => boolean) =>
    Object.fromEntries(Object.entries(types).filter(([name]) => isKept(name)));
  const array = <Name extends keyof Row & string>(name: Name, rows: readonly Row[]) =>
    types[name].encode(rows.map((row) => row[name]));
  return {
    names,
    list: (alias) => names.map((name) => (alias === undefined ? name : `${alias}.${name}`)).join(", "),
    assignments: (from) => names.map((name) => `${name} = ${from}.${name}`).join(", "),
    unnest: (first, alias) => {
      const arrays = names.map((name, index) => `$${first + index}::${types[name].type}[]`);
      return `unnest(${arrays.join(", ")}) as ${alias} (${names.join(", ")})`;
    },
    arrays: (rows) => names.map((name) => array(name, rows)),
    recordset: (parameter, alias) => {
      const definitions = names.map((name) => `${name} ${types[name].type}`);
      return `json_to_recordset($${parameter}::json) as ${alias} (${definitions.join(", ")})`;
    },
    // The remaining columns keep their types.
    only: <Name extends keyof Row & string>(...some: Name[]) =>
      columnsOf(where((name) => some.some((each) => each === name)) as ColumnTypes<Pick<Row, Name>>),
    without: <Name extends keyof Row & string>(...some: Name[]) =>
      columnsOf(where((name) => !some.some((each) => each === name)) as ColumnTypes<Omit<Row, Name>>),
    and: <More>(more: ColumnTypes<More>) =>
      columnsOf({ ...types, ...more } as unknown as ColumnTypes<Omit<Row, keyof More> & More>),
  };
}

/** A row's columns that statements write: all but those that the database generates. */
export type WrittenRow<Table extends keyof Tables> = Pick<
  Tables[Table],
  keyof (typeof columnTypes)[Table] & keyof Tables[Table]
>;

/** Returns the columns of a table that statements write, as the migrations define them. */
export function columnsOfTable<Table extends keyof Tables>(table: Table): Columns<WrittenRow<Table>> {
  const types = Object.entries(columnTypes[table]).map(([name, type]) => [name, arrayOf(type)] as const);
  // The generated types and values come from the same columns.
  return columnsOf(Object.fromEntries(types) as unknown as ColumnTypes<WrittenRow<Table>>);
}
