import type { Command } from "commander";
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
