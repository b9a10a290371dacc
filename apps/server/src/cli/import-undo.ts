import type { Command } from "commander";
import { undoImport, type Undone } from "../imports/undo.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";

/** `import undo`: takes an import back. */
export function registerImportUndo(parent: Command, context: () => CliContext): void {
  parent
    .command("undo")
    .description("take an import back: remove the rides, stations and bikes that it made, as if it had never been")
    .argument("<import id>", 'the id that the import printed, and that "import list" shows')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { clock, ids, actor, output, signals, withDatabase, resolveSystem } = context();
      let isStopped = false;
      const stop = () => {
        isStopped = true;
      };
      signals.untilStopped().then(stop, stop);
      await withDatabase(async (db) => {
        const systemId = await resolveSystem(db, systemOption(command));
        const onProgress = (deleted: number, all: number) => {
          if (isStopped) throw new Error("Stopped half-way: run the same command again to complete it.");
          output.progress(`${deleted} of ${all} rides removed`);
        };
        const undone = await undoImport({ db, clock, ids, actor, onProgress }, systemId, id);
        output.progress(undefined);
        output.result({ id, ...undone }, inWords(id, undone));
      });
    });
}

function inWords(id: string, { kind, rides, stations, bikes }: Undone): string {
  const removed =
    kind === "trips" ? `${rides} rides and ${stations} stations` : `${stations} stations and ${bikes} bikes`;
  return `Took import ${id} back: removed ${removed}.`;
}
