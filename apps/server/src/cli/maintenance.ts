import { access, stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { riderRef } from "@bikeshare/contract";
import { commandError } from "../command-errors.ts";
import { forgetRider } from "../partners/forget/service.ts";
import { overviewOf } from "../partners/service.ts";
import { shellWord } from "../printable.ts";
import { explainDatabaseFailure, explainFullDisk } from "../runtime/startup/checks.ts";
import { duration } from "../runtime/startup/values.ts";
import { createBackup } from "../storage/backup/backup.ts";
import { restoreBackup, verifyBackup } from "../storage/backup/restore.ts";
import { createBackupIn } from "../storage/backup/schedule.ts";
import { openDatabase } from "../storage/db/database.ts";
import { planMigrations, type PlannedLock, type PlannedStatement } from "../storage/db/migrate/plan.ts";
import { distribute, planDistribution } from "../storage/distribution/service.ts";
import { removeOldKeys, rotateKeys, type RotationContext } from "../storage/key-rotation/rotate.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import { releaseUnits, setAsideUnits } from "../storage/set-aside/service.ts";
import { readVersion } from "../version.ts";
import {
  type CliContext,
  type DeploymentContext,
  type OpenCli,
  type ParentCommand,
  run,
  runOnDeployment,
  runOnSystem,
  stopSignal,
  type SystemContext,
} from "./context.ts";
import { option, parsed, UsageError } from "./options.ts";
import { type Result, table } from "./output.ts";

/* Commands that maintain a deployment: `backup`, `restore`, `migrate`, `distribute`, `secrets`, `forget` and `set-aside`. */

const fileArgument = ["<file>", "the backup: a zip archive"] as const;

/** Registers `backup`, `backup verify` and `restore`. */
export function registerBackup(program: ParentCommand, cli: OpenCli): void {
  const backup = program
    .command("backup")
    .description("back up all data and the secrets into one file; the service may keep running")
    .argument("<file>", "the new file, or a directory for a file named after the time")
    .action((file) => run(cli(), (context) => makeBackup(context, file)));
  backup
    .command("verify")
    .description("restore a backup into a scratch database and check its data; changes nothing else")
    .argument(...fileArgument)
    .action((file) => run(cli(), (context) => verify(context, file)));
  program
    .command("restore")
    .description("restore a backup and its secrets into an empty database; overwrites nothing")
    .argument(...fileArgument)
    .action((file) => run(cli(), (context) => restore(context, file)));
}

/** Makes a backup. @param file the new file, or an existing directory for it */
async function makeBackup(context: CliContext, file: string): Promise<Result> {
  const { config, clock } = context;
  // The name is empty if a script runs `backup "$DIRECTORY"` and the variable is not set.
  if (file === "") throw new UsageError("<file> is empty: name a file or a directory.");
  const isDirectory = await stat(file).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const server = await context.openDatabaseAsIs();
  try {
    const options = { ...server, secretsPath: secretsPath(config), version: readVersion() };
    const signal = stopSignal(context, "Stopped: no backup was made.");
    const reported = { ...options, signal, onTable: progressOf(context, "Backing up") };
    const { path, summary } = isDirectory
      ? await createBackupIn(file, reported, clock())
      : { path: file, summary: await createBackup(reported, file) };
    const { bytes, madeAt, rows, tables } = summary;
    const checks = [
      check("data", `${rows} rows of ${tables} tables, read back from the file`),
      check("secrets", "those that the database is used with"),
    ];
    return {
      object: { file: path, bytes, made_at: madeAt, checks },
      facts: { file: path, bytes, made_at: madeAt, rows, tables },
      notes: [
        "The backup contains the secrets file: keep it where only you can read it.",
        `\`backup verify ${shellWord(path)}\` restores it into a scratch database and checks it.`,
      ],
    };
  } finally {
    await server.close();
  }
}

async function verify(context: CliContext, file: string): Promise<Result> {
  const { bytes, madeAt, rows, tables, systems } = await verifyBackup(file, {
    onTable: progressOf(context, "Restoring into a scratch database"),
    signal: stopSignal(context, "Stopped: the backup was not verified."),
  });
  const invariants = systems.flatMap(({ id, invariants: checked }) =>
    checked.map(({ name, meaning, severity, broken }) => ({
      check: `${id}: ${name}`,
      ok: broken === 0 || severity === "warning",
      detail: meaning,
    })),
  );
  const checks = [
    check("data", `${rows} rows of ${tables} tables, restored`),
    check("secrets", "those of the data"),
    ...invariants,
  ];
  const broken = checks.filter(({ ok }) => !ok);
  return {
    object: { file, bytes, made_at: madeAt, checks },
    facts: { file, bytes, made_at: madeAt, rows, tables, checks: checks.length, "checks broken": broken.length },
    table: broken.length === 0 ? undefined : table(broken, { broken: "check", meaning: "detail" }, ""),
    failure: broken.length === 0 ? undefined : `${broken.length} of ${checks.length} checks of ${file} are broken.`,
  };
}

async function restore(context: CliContext, file: string): Promise<Result> {
  const secrets = secretsPath(context.config);
  const server = await context.openDatabaseAsIs();
  try {
    const options = { ...server, secretsPath: secrets, onTable: progressOf(context, "Restoring") };
    const { bytes, madeAt, rows, tables } = await restoreBackup(options, file);
    const checks = [check("data", `${rows} rows of ${tables} tables`), check("secrets", `in ${secrets}`)];
    return {
      object: { file, bytes, made_at: madeAt, checks },
      facts: { file, bytes, made_at: madeAt, rows, tables, secrets },
      notes: [
        "When the service starts, it sends webhooks again that it sent after the backup. Receivers recognise them by their ids.",
      ],
    };
  } catch (error) {
    throw explainFullDisk(error, context.config, await server.findFullDisk?.());
  } finally {
    await server.close();
  }
}

/** Returns a check that has passed, as `--json` lists it. */
function check(name: string, detail: string) {
  return { check: name, ok: true, detail };
}

function progressOf({ output }: CliContext, what: string) {
  return (name: string, done: number, all: number) => output.progress(`${what}: ${done} of ${all} tables (${name})`);
}

/** Registers `migrate` and `migrate plan`. */
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

/** Every command that opens the database with `withDatabase` migrates it; this one does nothing else. */
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

/** Describes the statements that take locks or whose work is unknown; counts the others. */
function describe(steps: readonly PlannedStatement[]): string {
  const migrations = [...new Set(steps.map(({ migration }) => migration))];
  const lines = migrations.flatMap((name) => {
    const ofMigration = steps.filter(({ migration }) => migration === name);
    const shown = ofMigration.filter(({ locks, work }) => locks.length > 0 || work === "unknown");
    const rest = ofMigration.length - shown.length;
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
  const about = work === "none" || seconds === null ? "" : `, about ${seconds} s`;
  return [
    `  step ${step}, ${kinds[kind]}: ${statement}`,
    `    ${works[work]}${about}`,
    ...locks.map((lock) => `    ${describeLock(lock)}`),
  ].join("\n");
}

function describeLock({ table: name, lock, blocks, bytes, rows }: PlannedLock): string {
  const size = `${rows.toLocaleString("en")} rows, ${(bytes / 1024 ** 2).toFixed(1)} MiB`;
  return `lock: ${lock} on ${name} (${size}), blocks ${blocks} until the step ends`;
}

/** Registers `distribute`, which moves the data from one PostgreSQL to several with Citus. */
export function registerDistribute(program: ParentCommand, cli: OpenCli): void {
  program
    .command("distribute")
    .description("distribute the database over several machines with Citus; stop the service first. Safe to repeat")
    .option("--dry-run", "show what it would do, and change nothing")
    .action(({ dryRun = false }) => run(cli(), (context) => distributeDatabase(context, dryRun)));
}

function distributeDatabase({ output, withDatabase }: CliContext, dryRun: boolean): Promise<Result> {
  return withDatabase(async (db) => {
    const done = dryRun
      ? await planDistribution(db)
      : await distribute(db, (step) => output.progress(`Distributing ${step} …`));
    const { extension, tables, systems } = done;
    const isUnchanged = !extension && tables.length === 0 && systems.length === 0;
    const object = { ...done, dry_run: dryRun };
    if (isUnchanged) return { object, text: "The database is distributed already." };
    const facts = { "extension created": extension, "tables distributed": tables, "systems with a shard": systems };
    return { object, facts, notes: [dryRun ? "Nothing was changed (--dry-run)." : "Start the service again."] };
  });
}

const waitTime = duration("0s", "24h");

/**
 * Registers `secrets rotate` and `secrets remove-old-keys`. The keys are those of the secrets file, which encrypt cursors
 * and stored secrets; they are no API keys.
 */
export function registerSecrets(program: ParentCommand, cli: OpenCli): void {
  const secrets = program.command("secrets").description("manage the keys of the secrets file");
  const wait = () =>
    option("--wait <duration>", "how long processes may take to read the file", waitTime).default(
      waitTime("60s"),
      "60s",
    );
  secrets
    .command("rotate")
    .description("replace the keys while the service runs; resumes after an interruption")
    .addOption(wait())
    .action(({ wait: waitMs }) =>
      runOnDeployment(cli(), async (context) => {
        const rotated = await rotateKeys(await rotationOf(context, waitMs));
        const { keys, changed, unreadable } = rotated;
        return {
          object: { keys, reencrypted: changed, unreadable },
          notes: [
            ...(unreadable === 0 ? [] : [`${unreadable} secrets are encrypted with a lost key and were not changed.`]),
            "The old keys still decrypt. Run `secrets remove-old-keys` in an hour, when clients have read to the end with cursors of these keys.",
          ],
        };
      }),
    );
  secrets
    .command("remove-old-keys")
    .description("remove the keys that `secrets rotate` replaced")
    .addOption(wait())
    .option("--now", "remove them at once, and make the cursors invalid that clients still use")
    .action(({ wait: waitMs, now = false }) =>
      runOnDeployment(cli(), async (context) => {
        const { removed } = await removeOldKeys(await rotationOf(context, waitMs), now);
        return { object: { removed } };
      }),
    );
}

async function rotationOf(context: DeploymentContext, waitMs: number): Promise<RotationContext> {
  const path = secretsPath(context.config);
  await access(path).catch(() => {
    throw new Error(`There is no secrets file ${path}. Set SECRETS_FILE or DATA_DIR to the service's values.`);
  });
  return { ...context, path, waitMs, sleep: (ms) => sleep(ms), onWaiting: (text) => context.output.note(text) };
}

/** Registers `forget`, which erases a rider's reference (the right to erasure in data protection law). */
export function registerForget(program: ParentCommand, cli: OpenCli): void {
  program
    .command("forget")
    .description("erase a rider's reference from reservations, events, webhooks and their log")
    .addOption(
      option("--rider-ref <ref>", "a partner's reference for the rider", (text) =>
        parsed(riderRef, text),
      ).makeOptionMandatory(),
    )
    .option("--partner <id>", "the partner whose rider it is, where several use the reference")
    .action(({ riderRef: reference, partner: partnerId }) =>
      runOnSystem(cli(), async (context) => {
        const { systemId } = context;
        if (partnerId !== undefined && (await overviewOf(context, systemId, partnerId)) === undefined)
          throw commandError("not_found", "partner", { id: partnerId });
        const waiting = { ...context, sleep: (ms: number) => sleep(ms) };
        const tables = await forgetRider(waiting, systemId, { riderRef: reference, partnerId });
        const rows = Object.values(tables).reduce((sum, n) => sum + n, 0);
        return {
          object: { rows, tables },
          facts: { "rows changed": rows, ...tables },
          notes: ["A search of every table found no other occurrence."],
        };
      }),
    );
}

/** Registers `set-aside list` and `release`, for background jobs (units in the code) that keep failing. */
export function registerSetAside(program: ParentCommand, cli: OpenCli): void {
  const setAside = program
    .command("set-aside")
    .description("manage background jobs that keep failing (all others continue)");
  setAside
    .command("list")
    .description("list the background jobs that fail or are set aside (webhooks: `webhooks deliveries`)")
    .action(() => runOnSystem(cli(), list));
  setAside
    .command("release")
    .description("retry a background job within seconds, once its cause is fixed")
    .argument("[id]", "the id of the reservation, station, event or source that fails")
    .option("--all", "every failing job of the system")
    .action((id, { all = false }) => {
      if ((id === undefined) !== all) throw new UsageError("Name either the id of a failing job or --all.");
      return runOnSystem(cli(), (context) => release(context, id));
    });
}

async function list({ db, systemId }: SystemContext): Promise<Result> {
  const units = await setAsideUnits(db, systemId);
  const columns = {
    job: "work",
    id: "unit",
    since: "since",
    crashes: "crashes",
    failures: "failures",
    "next try": ({ next_try_at: at }: (typeof units)[number]) => at ?? "when released",
    reason: "message",
  } as const;
  return { object: { units }, table: table(units, columns, "No failing background jobs.") };
}

async function release(context: SystemContext, id: string | undefined): Promise<Result> {
  const released = await releaseUnits(context, context.systemId, id);
  return {
    object: { released },
    table: table(released, { job: "work", id: "unit" }, "No failing background jobs."),
    notes:
      released.length === 0
        ? []
        : ["A worker retries each within seconds; `set-aside list` shows those that fail again."],
  };
}
