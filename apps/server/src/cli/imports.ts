import { type ImportRow, listImports } from "../feeds/imports/service.ts";
import { undoImport, type Undone } from "../feeds/imports/undo.ts";
import { type OpenCli, type ParentCommand, stopSignal, type SystemContext, withSystem } from "./context.ts";
import { table } from "./output.ts";

/** `import list` and `import undo`. */
export function registerImports(parent: ParentCommand, cli: OpenCli): void {
  parent
    .command("list")
    .description("list what was imported, the newest first")
    .action(() =>
      withSystem(cli(), async ({ db, output }, systemId) => {
        const imports = await listImports(db, systemId);
        output.result({ imports }, imports.length === 0 ? "Nothing was imported yet." : importsTable(imports));
      }),
    );
  parent
    .command("undo")
    .description("undo an import: remove the rides, stations and bikes that it created")
    .argument("<import id>", 'the id that the import printed, and that "import list" shows')
    .action((id) => withSystem(cli(), (context, systemId) => undo(context, systemId, id)));
}

function importsTable(imports: readonly ImportRow[]): string {
  return table(imports, {
    id: "id",
    kind: "kind",
    source: "source",
    at: "at",
    status: statusText,
    created: "created",
    unchanged: "unchanged",
    rejected: "rejected",
    stations: "stations_created",
    first: "first_at",
    last: "last_at",
  });
}

function statusText({ status }: ImportRow): string {
  if (status === "running") return "running or interrupted";
  return status === "undoing" ? "being undone" : status;
}

async function undo(context: SystemContext, systemId: string, id: string): Promise<void> {
  const { output } = context;
  const signal = stopSignal(context, "Stopped before the end: run the same command again to complete it.");
  const onProgress = (deleted: number, all: number) => {
    signal.throwIfAborted();
    output.progress(`${deleted} of ${all} rides removed`);
  };
  const undone = await undoImport({ ...context, onProgress }, systemId, id);
  output.progress(undefined);
  output.result({ id, ...undone }, undoneText(id, undone));
}

function undoneText(id: string, { kind, rides, stations, bikes }: Undone): string {
  const removed =
    kind === "trips" ? `${rides} rides and ${stations} stations` : `${stations} stations and ${bikes} bikes`;
  return `Undid import ${id}: removed ${removed}.`;
}
