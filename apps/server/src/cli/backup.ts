import { stat } from "node:fs/promises";
import { shellWord } from "../printable.ts";
import { createBackup } from "../storage/backup/backup.ts";
import { restoreBackup, verifyBackup } from "../storage/backup/restore.ts";
import { createBackupIn } from "../storage/backup/schedule.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import { readVersion } from "../version.ts";
import { type CliContext, type OpenCli, type ParentCommand, run, stopSignal } from "./context.ts";
import { UsageError } from "./options.ts";
import { type Result, table } from "./output.ts";

const fileArgument = ["<file>", "the backup: a zip archive"] as const;

/** `backup`, `backup verify` and `restore`. */
export function registerBackup(program: ParentCommand, cli: OpenCli): void {
  const backup = program
    .command("backup")
    .description("back up all data and the secrets into one file; the service may keep running")
    .argument("<file>", "the new file, or a directory for a file named after the time")
    .action((file) => run(cli(), (context) => back(context, file)));
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

async function back(context: CliContext, file: string): Promise<Result> {
  const { config, clock } = context;
  // As in `backup "$DIRECTORY"` when the variable is not set.
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
  } finally {
    await server.close();
  }
}

function check(name: string, detail: string) {
  return { check: name, ok: true, detail };
}

function progressOf({ output }: CliContext, what: string) {
  return (name: string, done: number, all: number) => output.progress(`${what}: ${done} of ${all} tables (${name})`);
}
