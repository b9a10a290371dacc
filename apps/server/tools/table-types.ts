import type { Queryable } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";

/* Makes the TypeScript file of tables and columns (tables.generated.ts) from a migrated database. */

interface Column {
  readonly table_name: string;
  readonly name: string;
  /** As `format_type` gives it, without a precision: `timestamp with time zone`, `text[]`, … */
  readonly type: string;
  readonly is_nullable: boolean;
  /** The expression that the database generates it with; null: statements write it. */
  readonly generated: string | null;
  /** The checks on this column alone, as PostgreSQL writes them. */
  readonly checks: readonly string[];
}

// A partition has the columns of its table.
const allColumns = statement(
  "tableTypes.columns",
  `select c.relname::text as table_name, a.attname::text as name, format_type(a.atttypid, null) as type,
     not a.attnotnull as is_nullable,
     (select pg_get_expr(d.adbin, d.adrelid) from pg_attrdef d
      where a.attgenerated <> '' and d.adrelid = c.oid and d.adnum = a.attnum) as generated,
     array(select pg_get_constraintdef(k.oid) from pg_constraint k
           where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum] order by k.conname) as checks
   from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
   order by c.relname collate "C", a.attnum`,
);

/** The TypeScript type of a column's values as statements return them: storage/db/database.ts configures the parsers. */
const typesOfValues: Readonly<Record<string, string>> = {
  text: "string",
  uuid: "string",
  boolean: "boolean",
  date: "string",
  smallint: "number",
  integer: "number",
  bigint: "number",
  real: "number",
  "double precision": "number",
  "timestamp with time zone": "Date",
  json: "unknown",
  jsonb: "unknown",
  bytea: "Uint8Array",
  "text[]": "readonly string[]",
  "double precision[]": "readonly number[]",
  "smallint[]": "readonly (number | null)[]",
};

const heading = `// Made from the migrations by \`pnpm --filter @bikeshare/server run db:types\`: do not edit.

/** The tables and the values of their columns as they are read. */
`;

/**
 * Returns the types of a migrated database's tables, as the TypeScript text of an interface `Tables`.
 * @throws Error where a column has a type whose value in TypeScript nobody has decided on
 */
export async function renderTableTypes(db: Queryable): Promise<string> {
  const columns = await db.query<Column>(allColumns);
  const tables = [...new Set(columns.map((column) => column.table_name))];
  const members = tables.map((table) => {
    const ofTable = columns.filter((column) => column.table_name === table);
    return `  readonly ${table}: {\n${ofTable.map(renderColumn).join("")}  };\n`;
  });
  return `${heading}export interface Tables {\n${members.join("")}}\n${renderColumnTypes(columns)}`;
}

/** Returns two constants: the columns that statements write, and those that the database generates. */
function renderColumnTypes(columns: readonly Column[]): string {
  const tables = [...new Set(columns.map((column) => column.table_name))];
  const written = tables.map((table) => {
    const ofTable = columns.filter((column) => column.table_name === table && column.generated === null);
    return `  ${table}: { ${ofTable.map(({ name, type }) => `${name}: "${shortNames[type] ?? type}"`).join(", ")} },\n`;
  });
  const generated = tables.flatMap((table) => {
    const ofTable = columns.flatMap(({ table_name: of, name, generated: expression }) =>
      of === table && expression !== null ? [`${name}: ${JSON.stringify(onOneLine(expression))}`] : [],
    );
    return ofTable.length === 0 ? [] : [`  ${table}: { ${ofTable.join(", ")} },\n`];
  });
  return `
/** The columns that statements write, with PostgreSQL's types. */
export const columnTypes = {
${written.join("")}} as const;

/** The columns that the database generates, with the expressions that it generates them with. */
export const generatedColumns = {
${generated.join("")}} as const;
`;
}

/** Joins the lines into which PostgreSQL breaks a longer expression. */
function onOneLine(expression: string): string {
  return expression.trim().replaceAll(/\s+/g, " ");
}

const shortNames: Readonly<Record<string, string>> = { "timestamp with time zone": "timestamptz" };

function renderColumn(column: Column): string {
  const type = allowedTexts(column) ?? typesOfValues[column.type];
  if (type === undefined) {
    throw new Error(
      `${column.table_name}.${column.name} is ${column.type}: say in tools/table-types.ts what it is read as`,
    );
  }
  return `    readonly ${column.name}: ${type}${column.is_nullable && type !== "unknown" ? " | null" : ""};\n`;
}

/**
 * Returns the texts that `check (column in ('…', '…'))` allows, as a union; undefined without such a check. PostgreSQL
 * writes the check as `= ANY (ARRAY['…'::text, '…'::text])`, or as `= '…'::text` if it allows only one text.
 */
function allowedTexts({ type, checks }: Column): string | undefined {
  if (type !== "text") return undefined;
  for (const check of checks) {
    const list = /^CHECK \(\(\w+ = (?:ANY \(ARRAY\[(?<many>.+)\]\)|(?<one>'(?:[^']|'')*'::text))\)\)$/.exec(
      check,
    )?.groups;
    const literals = [...(list?.["many"] ?? list?.["one"] ?? "").matchAll(/'((?:[^']|'')*)'::text/g)];
    const texts = literals.map(([, text = ""]) => JSON.stringify(text.replaceAll("''", "'")));
    if (texts.length > 0) return texts.join(" | ");
  }
  return undefined;
}
