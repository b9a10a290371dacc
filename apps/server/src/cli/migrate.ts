import { explainDatabaseFailure } from "../runtime/startup/database-failure.ts";
import { openDatabase } from "../storage/db/database.ts";
import { type PlannedLock, type PlannedStatement, planMigrations } from "../storage/db/migrate/plan.ts";
import { type CliContext, type OpenCli, type ParentCommand, run } from "./context.ts";
import type { Result } from "./output.ts";

/** `migrate` and `migrate plan`. */
export function registerMigrate(program: ParentCommand, cli: OpenCli): void {
  const command = program
    .command("migrate")
    .description("apply pending migrations; safe beside a running service and other migrations")
    .action(() => run(cli(), migrate));
  command
    .command("plan")
    .description("list what `migrate` would do, with locks and estimated durations; changes nothing")
    .action(() => run(cli(), plan));
}

/** Every command migrates when it opens the database; this one does nothing else. */
function migrate({ withDatabase }: CliContext): Promise<Result> {
  return withDatabase((_db, applied) =>
    Promise.resolve({ object: { applied }, ...(applied.length === 0 ? { text: "The schema is up to date." } : {}) }),
  );
}

async function plan({ config, openDatabaseAsIs }: CliContext): Promise<Result> {
  const server = await openDatabaseAsIs();
  const db = openDatabase({ connectionString: server.connectionString, maxConnections: 1 });
  try {
    const steps = await planMigrations(db);
    if (steps.length === 0) return { object: { steps }, text: "The schema is up to date." };
    const notes = ["Nothing was changed. `bikeshare migrate` applies them, as does the start of the service."];
    return { object: { steps }, text: describe(steps), notes };
  } catch (error) {
    throw explainDatabaseFailure(error, config);
  } finally {
    await db.close();
    await server.close();
  }
}

/** Describes the statements that lock or last; counts the others. */
function describe(steps: readonly PlannedStatement[]): string {
  const migrations = [...new Set(steps.map(({ migration }) => migration))];
  const lines = migrations.flatMap((name) => {
    const its = steps.filter(({ migration }) => migration === name);
    const shown = its.filter(({ locks, work }) => locks.length > 0 || work === "unknown");
    const rest = its.length - shown.length;
    return [
      name,
      ...shown.map(describeStatement),
      ...(rest === 0 ? [] : [`  ${rest} statements that touch no existing table: nobody waits.`]),
    ];
  });
  return lines.join("\n");
}

const kinds: Readonly<Record<PlannedStatement["kind"], string>> = {
  transaction: "in a transaction",
  autocommit: "in no transaction",
  backfill: "in batches",
};

const works: Readonly<Record<PlannedStatement["work"], string>> = {
  none: "reads and writes no rows",
  scan: "reads the table",
  "index build": "builds an index",
  rows: "writes rows",
  rewrite: "rewrites the table",
  unknown: "unknown: see the statement in PostgreSQL's manual",
};

function describeStatement({
  step,
  kind,
  statement,
  locks,
  work,
  estimated_seconds: seconds,
}: PlannedStatement): string {
  const duration = work === "none" || seconds === null ? "" : `, about ${seconds} s`;
  return [
    `  step ${step}, ${kinds[kind]}: ${statement}`,
    `    ${works[work]}${duration}`,
    ...locks.map((lock) => `    ${describeLock(lock)}`),
  ].join("\n");
}

function describeLock({ table, lock, blocks, bytes, rows }: PlannedLock): string {
  const size = `${rows.toLocaleString("en")} rows, ${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return `lock: ${lock} on ${table} (${size}), blocks ${blocks} until the step ends`;
}
