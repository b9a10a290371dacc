import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import type { Config } from "../config.ts";
import { type ImportRow, listImports } from "../imports/service.ts";
import { undoImport, type Undone } from "../imports/undo.ts";
import { type CliContext, withSystem } from "./context.ts";
import { table } from "./output.ts";

/** `import list` and `import undo`. */
export function registerImports(parent: Command, context: () => CliContext): void {
  parent
    .command("list")
    .description("list what was imported, the newest first")
    .action(() => printImports(context()));
  parent
    .command("undo")
    .description("undo an import: remove the rides, stations and bikes that it created")
    .argument("<import id>", 'the id that the import printed, and that "import list" shows')
    .action((id: string) => undo(context(), id));
}

async function printImports(cli: CliContext): Promise<void> {
  await withSystem(cli, async ({ db }, systemId) => {
    const imports = await listImports(db, systemId);
    cli.output.result({ imports }, imports.length === 0 ? "Nothing was imported yet." : importsTable(imports));
  });
}

function importsTable(imports: readonly ImportRow[]): string {
  return table(imports, {
    id: ({ id }) => id,
    kind: ({ kind }) => kind,
    source: ({ source }) => source,
    at: ({ at }) => at,
    status: statusText,
    created: ({ created }) => created,
    unchanged: ({ unchanged }) => unchanged,
    rejected: ({ rejected }) => rejected,
    stations: ({ stations_created }) => stations_created,
    first: ({ first_at }) => first_at,
    last: ({ last_at }) => last_at,
  });
}

function statusText({ status }: ImportRow): string {
  if (status === "running") return "running or interrupted";
  return status === "undoing" ? "being undone" : status;
}

async function undo(cli: CliContext, id: string): Promise<void> {
  const { output, signals } = cli;
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  signals.untilStopped().then(stop, stop);
  await withSystem(cli, async (context, systemId) => {
    const onProgress = (deleted: number, all: number) => {
      if (isStopped) throw new Error("Stopped before the end: run the same command again to complete it.");
      output.progress(`${deleted} of ${all} rides removed`);
    };
    const undone = await undoImport({ ...context, onProgress }, systemId, id);
    output.progress(undefined);
    output.result({ id, ...undone }, undoneText(id, undone));
  });
}

function undoneText(id: string, { kind, rides, stations, bikes }: Undone): string {
  const removed =
    kind === "trips" ? `${rides} rides and ${stations} stations` : `${stations} stations and ${bikes} bikes`;
  return `Undid import ${id}: removed ${removed}.`;
}

/** A report is read soon or never, and one of a ruined file has a line for each of its rows. */
const MAX_REPORTS = 100;
const REPORT_NAME = /^import_\w+\.ndjson$/;

/** Where the reports of imports are written. */
export function reportsDirectory({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "reports");
}

/** Removes all but the newest reports of trip imports. Other files in the directory stay. */
export async function removeOldReports(directory: string): Promise<void> {
  // Without a directory there is no report.
  const names = await readdir(directory).catch(() => []);
  const reports = await Promise.all(
    names
      .filter((name) => REPORT_NAME.test(name))
      .map(async (name) => ({ name, at: (await stat(join(directory, name))).mtimeMs })),
  );
  const old = reports.toSorted((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1)).slice(MAX_REPORTS);
  await Promise.all(old.map(({ name }) => rm(join(directory, name), { force: true })));
}
