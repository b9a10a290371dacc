import { splitStatements } from "./sql-statements.rules.ts";

/** A part of a migration that is applied as a whole, and recorded, before the next one begins. */
export type Step =
  /** Any statements, in one transaction. */
  | { readonly kind: "transaction"; readonly sql: string }
  /** One statement that PostgreSQL refuses in a transaction, or that would hold its locks for too long there. */
  | { readonly kind: "autocommit"; readonly sql: string }
  /** One statement that runs again and again, each time on the next rows of a table in the order of its primary key. */
  | { readonly kind: "backfill"; readonly sql: string; readonly table: string };

/** The placeholder in a backfill's statement for the condition that selects the rows of a batch. */
export const BATCH_CONDITION = ":batch";

const MARKER = /^[ \t]*-- *step: *(.*?) *$/m;
const OLDEST_PROGRAM = /^-- *oldest program: *(\d+\.\d+\.\d+) *$/m;

/**
 * Splits a migration into steps, at lines such as `-- step: autocommit`. A file without such lines is one transaction.
 * @throws Error that describes the error in the file
 */
export function parseSteps(sql: string): Step[] {
  const [before = "", ...marked] = sql.split(MARKER);
  if (marked.length === 0) return [{ kind: "transaction", sql }];
  if (splitStatements(before).length > 0)
    throw new Error("a statement stands before the first `-- step:`; mark its step");
  return Array.from({ length: marked.length / 2 }, (_, index) =>
    createStep(marked[index * 2] ?? "", marked[index * 2 + 1] ?? ""),
  );
}

/**
 * Returns the oldest version of the program that works on the schema which a migration leaves; undefined: the file does not
 * say.
 */
export function oldestProgramOf(sql: string): string | undefined {
  return OLDEST_PROGRAM.exec(sql)?.[1];
}

function createStep(marker: string, sql: string): Step {
  const count = splitStatements(sql).length;
  const table = /^backfill (\w+)$/.exec(marker)?.[1];
  if (marker === "transaction" && count > 0) return { kind: "transaction", sql };
  if (count !== 1) throw new Error(`\`-- step: ${marker}\` has ${count} statements; give it one`);
  if (marker === "autocommit") return { kind: "autocommit", sql };
  if (table === undefined) {
    throw new Error(`\`-- step: ${marker}\` is unknown; write transaction, autocommit, or backfill and a table`);
  }
  if (!sql.includes(BATCH_CONDITION)) throw new Error(`the backfill of ${table} lacks \`where ${BATCH_CONDITION}\``);
  return { kind: "backfill", sql, table };
}
