import { assertCompatible, pendingMigrations } from "./compatibility.rules.ts";
import { assertKnownSchema } from "./known-schema.ts";
import { type Migration, type Program, readProgram } from "./program.ts";
import { listRecordedMigrations, listTableSizes, type Runner, type TableSize } from "./queries.ts";
import {
  type Blocked,
  blockedBy,
  changeBy,
  type LockMode,
  type SchemaChange,
  splitStatements,
  type SqlStatement,
  type Step,
  type TableLock,
  type Work,
} from "./schema-change.rules.ts";

/** The expected effect of a statement that has not been applied yet. */
export interface PlannedStatement {
  /** The file's name. */
  readonly migration: string;
  /** The step's number, from 1. Statements of one step share a transaction and keep their locks until its end. */
  readonly step: number;
  readonly kind: Step["kind"];
  readonly statement: string;
  /** The locks on tables that exist already. The rows of the first table decide how long the work takes. */
  readonly locks: readonly PlannedLock[];
  /** `unknown`: look the statement up in PostgreSQL's manual. */
  readonly work: Work | "unknown";
  /** The approximate duration of the work; null: unknown. */
  readonly estimated_seconds: number | null;
}

/** A lock that a statement will take, and the size of its table. */
export interface PlannedLock {
  readonly table: string;
  readonly lock: LockMode;
  readonly blocks: Blocked;
  /** The size of the table including its indexes. */
  readonly bytes: number;
  /** The number of rows, as PostgreSQL estimates it. */
  readonly rows: number;
}

/** Returns the effect of `migrate`, statement by statement. Changes nothing, and takes no lock that blocks others. */
export async function planMigrations(db: Runner, program?: Program): Promise<PlannedStatement[]> {
  const known = program ?? (await readProgram());
  const recorded = await listRecordedMigrations(db);
  assertCompatible(known, recorded);
  await assertKnownSchema(db, known, recorded);
  const statements = pendingMigrations(known, recorded).flatMap((migration) => {
    const begun = recorded.find(({ number }) => number === migration.number);
    return statementsFrom(migration, begun?.steps_done ?? 0);
  });
  const sizes = await listTableSizes(db);
  return statements.map((statement) => plan(statement, sizes));
}

/** A statement of a step that is still to be applied. */
interface PendingStatement {
  readonly migration: string;
  readonly step: number;
  readonly kind: Step["kind"];
  readonly statement: SqlStatement;
}

/** Returns the statements of a migration's steps that are not applied yet. */
function statementsFrom({ name, steps }: Migration, stepsDone: number): PendingStatement[] {
  return steps
    .slice(stepsDone)
    .flatMap(({ kind, sql }, index) =>
      splitStatements(sql).map((statement) => ({ migration: name, step: stepsDone + index + 1, kind, statement })),
    );
}

/** Returns the expected effect of a statement, by the present sizes of the tables. */
function plan({ statement, ...pending }: PendingStatement, sizes: readonly TableSize[]): PlannedStatement {
  const change = changeBy(statement);
  // The first lock is on the table of the work; undefined if that table does not exist yet.
  const [worked, ...others] = locksOf(change, sizes).map(({ table, mode }) => {
    const size = sizes.find((each) => each.table === table);
    return size && { table, lock: mode, blocks: blockedBy(mode), bytes: size.bytes, rows: size.rows };
  });
  const planned = { ...pending, statement: statement.text };
  const locks = [worked, ...others].filter((lock) => lock !== undefined);
  if (change === undefined) return { ...planned, locks, work: "unknown", estimated_seconds: null };
  // A change to a table that the plan itself creates takes no time.
  if (worked === undefined) return { ...planned, locks, work: "none", estimated_seconds: 0 };
  const seconds = estimateSeconds(change.work, pending.kind, worked.rows);
  return { ...planned, locks, work: change.work, estimated_seconds: seconds };
}

/** Returns the locks of a statement. One that names only an index locks the table of this index. */
function locksOf(change: SchemaChange | undefined, sizes: readonly TableSize[]): readonly TableLock[] {
  const index = change?.index;
  if (index === undefined) return change?.locks ?? [];
  return sizes.filter(({ indexes }) => indexes.includes(index.name)).map(({ table }) => ({ table, mode: index.mode }));
}

/** Rows that the work handles in a second. Only an order of magnitude, because tables and machines differ widely. */
const ROWS_PER_SECOND = { scan: 1_000_000, "index build": 400_000, rows: 25_000, rewrite: 40_000 } as const;

/** Estimates the duration of a statement. A backfill takes twice as long, because it pauses for as long as it works. */
function estimateSeconds(work: Work, kind: Step["kind"], rows: number): number {
  if (work === "none") return 0;
  return Math.ceil((rows / ROWS_PER_SECOND[work]) * (kind === "backfill" ? 2 : 1));
}
