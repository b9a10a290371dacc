import { createHash } from "node:crypto";
import { codeOf, sqlState } from "../errors.ts";
import { statement } from "../statement.ts";
import type { QueryRunner } from "../transaction.ts";
import type { RecordedMigration } from "./compatibility.rules.ts";
import type { Program } from "./program.ts";
import { splitStatements } from "./schema-change.rules.ts";

/* Recognizes a schema that no migration of this program leads to, before the first migration would change it. */

/** The number of the last migration of version 0.1.0. Earlier programs used the same numbers for other migrations. */
export const BASE = 7;

/**
 * The result of `fingerprintOf` for the schema that the migrations of 0.1.0 create. A test compares it with a database. It
 * never changes, because those migrations never change.
 */
const BASE_FINGERPRINT = "ed6130ce6fd7d7bf8b5f1913e16c42324ed25135c62421fe5b30f10a76466dca";

const ADVICE =
  "Nothing was changed. Go on with the program that made the database; or give this one an empty database, by another DATA_DIR or DATABASE_URL, and import your data again.";

/** The database has a schema that no migration of this program leads to. */
export class UnknownSchemaError extends Error {
  override readonly name = "UnknownSchemaError";
  /** The unexpected part of the schema. */
  readonly found: string;
  readonly advice = ADVICE;

  constructor(found: string) {
    super(`This program does not know the schema of the database: ${found}. ${ADVICE}`);
    this.found = found;
  }
}

/** Returns the error to report when the table `migrations` cannot be read: it may belong to another program. */
export function explainUnreadableMigrations(error: unknown): unknown {
  if (codeOf(error) !== sqlState.undefinedColumn) return error;
  return new UnknownSchemaError(
    "its table `migrations` is of another program, or of a version of this one before 0.1.0",
  );
}

/**
 * Checks that a database at 0.1.0 has the tables that the migrations of 0.1.0 create, before later migrations change them.
 * A database with later migrations needs no check, because it was checked before they were applied.
 * @throws UnknownSchemaError
 */
export async function assertKnownSchema(
  db: QueryRunner,
  { migrations }: Program,
  recorded: readonly RecordedMigration[],
): Promise<void> {
  const isBase =
    recorded.length === BASE && recorded.every(({ number, applied_at: at }) => number <= BASE && at !== null);
  if (!isBase) return;
  const base = migrations.filter(({ number }) => number <= BASE);
  const sqlOfBase = base.flatMap(({ steps }) => steps.map(({ sql }) => sql));
  if ((await fingerprintOf(db, sqlOfBase)) === BASE_FINGERPRINT) return;
  throw new UnknownSchemaError("a version of this program before 0.1.0 made its tables");
}

const listParts = statement(
  "migrations.parts",
  `select relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || case when attnotnull then ' not null' else '' end as part
   from pg_attribute join pg_class on pg_class.oid = attrelid
   where relnamespace = current_schema()::regnamespace and relname = any($1::text[]) and attnum > 0 and not attisdropped
   union all
   select proname || '(' || pg_get_function_identity_arguments(oid) || ') ' || prosrc from pg_proc
   where pronamespace = current_schema()::regnamespace and proname = any($2::text[])`,
);

/** Returns SHA-256 of the database's columns and function bodies, for the tables and functions that some SQL creates. */
async function fingerprintOf(db: QueryRunner, sql: readonly string[]): Promise<string> {
  // `bare`: a statement in lower case and without comments.
  const statements = sql.flatMap((text) => splitStatements(text)).map(({ bare }) => bare);
  const namesBy = (pattern: RegExp) => statements.flatMap((text) => pattern.exec(text)?.[1] ?? []);
  const tables = namesBy(/^create table (\w+) ?\(/);
  const functions = namesBy(/^create function (\w+) ?\(/);
  const rows = await db.query<{ part: string }>(listParts, [tables, functions]);
  const parts = rows.map(({ part }) => part).sort();
  return createHash("sha256").update(parts.join("\n")).digest("hex");
}
