import { type ImportRow, listImports } from "../feeds/imports/service.ts";
import { undoImport } from "../feeds/imports/undo.ts";
import { type OpenCli, type ParentCommand, runOnSystem, stopSignal, type SystemContext } from "./context.ts";
import { type Columns, type Result, table } from "./output.ts";

const columns: Columns<ImportRow> = {
  id: "id",
  kind: "kind",
  source: "source",
  at: "at",
  status: ({ status }) => (status === "running" ? "running or interrupted" : status),
  created: "created",
  unchanged: "unchanged",
  rejected: "rejected",
  stations: "stations_created",
  first: "first_at",
  last: "last_at",
};

/** `import list` and `import undo`. */
export function registerImports(parent: ParentCommand, cli: OpenCli): void {
  parent
    .command("list")
    .description("list the imports, newest first")
    .action(() =>
      runOnSystem(cli(), async ({ db, systemId }) => {
        const imports = await listImports(db, systemId);
        return { object: { imports }, table: table(imports, columns, "No imports.") };
      }),
    );
  parent
    .command("undo")
    .description("undo an import: remove the rides, stations and bikes that it created")
    .argument("<import id>", "the import's id, which `import list` shows")
    .action((id) => runOnSystem(cli(), (context) => undo(context, id)));
}

async function undo(context: SystemContext, id: string): Promise<Result> {
  const signal = stopSignal(context, "Stopped before the end: run the same command again to complete it.");
  const onProgress = (deleted: number, all: number) => {
    signal.throwIfAborted();
    context.output.progress(`${deleted} of ${all} rides removed`);
  };
  const { kind, rides, stations, bikes } = await undoImport({ ...context, onProgress }, context.systemId, id);
  return {
    object: { id, kind, rides, stations, bikes },
    facts: { import: id, kind, "rides removed": rides, "stations removed": stations, "bikes removed": bikes },
  };
}
