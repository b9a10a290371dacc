import { explainDatabaseFailure } from "../runtime/startup/database-failure.ts";
import { openDatabase } from "../storage/db/database.ts";
import { type PlannedLock, type PlannedStatement, planMigrations } from "../storage/db/migrate/plan.ts";
import type { CliContext, OpenCli, ParentCommand } from "./context.ts";

/** `migrate` and `migrate plan`. */
export function registerMigrate(program: ParentCommand, cli: OpenCli): void {
  const command = program
    .command("migrate")
    .description(
      "bring the database's schema up to date; safe when several start at once, and beside a running service",
    )
    .action(() => migrate(cli()));
  command
    .command("plan")
    .description("list what `migrate` would do, with the locks it takes and how long it may last; changes nothing")
    .action(() => plan(cli()));
}

/** Every command migrates when it opens the database; this one does nothing else. */
function migrate({ output, withDatabase }: CliContext): Promise<void> {
  return withDatabase((_db, applied) => {
    const lines = applied.length === 0 ? ["The schema is up to date."] : ["Applied:", ...applied];
    output.result({ applied }, lines.join("\n  "));
    return Promise.resolve();
  });
}

async function plan({ config, output, openDatabaseAsIs }: CliContext): Promise<void> {
  const server = await openDatabaseAsIs();
  const db = openDatabase({ connectionString: server.connectionString, maxConnections: 1 });
  try {
    const steps = await planMigrations(db);
    output.result({ steps }, steps.length === 0 ? "The schema is up to date: nothing is to be done." : describe(steps));
  } catch (error) {
    throw explainDatabaseFailure(error, config);
  } finally {
    await db.close();
    await server.close();
  }
}

/** For people: what stops nobody and takes no time is only counted. */
function describe(steps: readonly PlannedStatement[]): string {
  const migrations = [...new Set(steps.map(({ migration }) => migration))];
  const lines = migrations.flatMap((name) => {
    const its = steps.filter(({ migration }) => migration === name);
    const shown = its.filter(({ locks, work }) => locks.length > 0 || work === "unknown");
    const rest = its.length - shown.length;
    const others = shown.length === 0 ? "" : "others ";
    return [
      name,
      ...shown.map(describeStatement),
      ...(rest === 0 ? [] : [`  ${rest} ${others}that touch no table which is there already: nobody waits.`]),
    ];
  });
  return `${lines.join("\n")}\nNothing was changed. \`bikeshare migrate\` does it, as does the start of the service.`;
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
  rewrite: "writes the whole table anew",
  unknown: "unknown: look the statement up in PostgreSQL's manual",
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
  const whom = { nothing: "stops no request", writes: "stops writes", "reads and writes": "stops reads and writes" };
  return `lock: ${lock} on ${table} (${size}), which ${whom[blocks]} until it is released`;
}
