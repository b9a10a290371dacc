import { stat } from "node:fs/promises";
import { shellWord } from "../shell-word.ts";
import { createBackup } from "../storage/backup/backup.ts";
import { restoreBackup } from "../storage/backup/restore.ts";
import { createBackupIn } from "../storage/backup/schedule.ts";
import { verifyBackup } from "../storage/backup/verify.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import { readVersion } from "../version.ts";
import { type CliContext, type OpenCli, type ParentCommand, stopSignal } from "./context.ts";
import { UsageError } from "./options.ts";

const fileArgument = ["<file>", "the backup: a zip archive"] as const;

/** `backup`, `backup verify` and `restore`. */
export function registerBackup(program: ParentCommand, cli: OpenCli): void {
  const backup = program
    .command("backup")
    .description("back up all data and the secrets into one file; the service may run meanwhile")
    .argument("<file>", "the new file, or a directory in which it gets a name with the time")
    .action((file) => back(cli(), file));
  backup
    .command("verify")
    .description("restore a backup into a scratch database and check what is in it; changes nothing else")
    .argument(...fileArgument)
    .action((file) => verify(cli(), file));
  program
    .command("restore")
    .description("restore a backup into an empty database, with the secrets; overwrites nothing")
    .argument(...fileArgument)
    .action((file) => restore(cli(), file));
}

async function back(context: CliContext, file: string): Promise<void> {
  const { config, clock, output } = context;
  // As `backup "$DIRECTORY"` where the variable is not set.
  if (file === "") throw new UsageError("<file> must not be empty.");
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
    output.progress(undefined);
    const checks = [
      check("data", `${summary.rows} rows of ${summary.tables} tables, read back from the file`),
      check("secrets", "those that the database is used with"),
    ];
    output.result(
      { file: path, bytes: summary.bytes, made_at: summary.madeAt, checks },
      `Backed up ${summary.rows} rows to ${path}, ${summary.bytes} bytes, and read them back.\nIt contains the secrets file: keep it where only you can read it. \`backup verify ${shellWord(path)}\` restores it on trial.`,
    );
  } finally {
    await server.close();
  }
}

async function verify(context: CliContext, file: string): Promise<void> {
  const { output } = context;
  const { bytes, madeAt, rows, tables, systems } = await verifyBackup(file, {
    onTable: progressOf(context, "Restoring on trial"),
    signal: stopSignal(context, "Stopped: the backup was not verified."),
  });
  output.progress(undefined);
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
  const broke = broken.map((one) => `BROKEN  ${one.check}: ${one.detail}`);
  const good = `${file} is good: its data of ${madeAt} were restored on trial, ${rows} rows, and all ${checks.length} checks hold.`;
  output.result({ file, bytes, made_at: madeAt, checks }, broken.length === 0 ? good : broke.join("\n"));
  if (broken.length > 0) throw new Error(`${broken.length} of ${checks.length} checks of ${file} do not hold.`);
}

async function restore(context: CliContext, file: string): Promise<void> {
  const { config, output } = context;
  const path = secretsPath(config);
  const server = await context.openDatabaseAsIs();
  try {
    const options = { ...server, secretsPath: path, onTable: progressOf(context, "Restoring") };
    const { bytes, madeAt, rows, tables } = await restoreBackup(options, file);
    output.progress(undefined);
    const checks = [check("data", `${rows} rows of ${tables} tables`), check("secrets", `in ${path}`)];
    output.result(
      { file, bytes, made_at: madeAt, checks },
      `Restored ${rows} rows, as they were at ${madeAt}, and the secrets into ${path}.\nWebhooks that were sent after that are sent again when the service starts: receivers recognise them by their ids.`,
    );
  } finally {
    await server.close();
  }
}

function check(name: string, detail: string) {
  return { check: name, ok: true, detail };
}

function progressOf({ output }: CliContext, what: string) {
  return (table: string, done: number, all: number) => output.progress(`${what}: ${done} of ${all} tables (${table})`);
}
