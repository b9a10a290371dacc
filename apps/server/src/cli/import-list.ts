import type { Command } from "commander";
import { type ImportRow, importsOf } from "../imports/service.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";
import { table } from "./table.ts";

/** `import list`: what was imported when. */
export function registerImportList(parent: Command, context: () => CliContext): void {
  parent
    .command("list")
    .description("list what was imported, the newest first")
    .action(async (_options: unknown, command: Command) => {
      const { output, withDatabase, resolveSystem } = context();
      await withDatabase(async (db) => {
        const imports = await importsOf(db, await resolveSystem(db, systemOption(command)));
        output.result({ imports }, imports.length === 0 ? "Nothing was imported yet." : inWords(imports));
      });
    });
}

const header = [
  "id",
  "kind",
  "source",
  "at",
  "status",
  "created",
  "unchanged",
  "rejected",
  "stations",
  "first",
  "last",
];

function inWords(imports: readonly ImportRow[]): string {
  const instant = (at: Date | null) => at?.toISOString() ?? "";
  return table(
    header,
    imports.map((row) => [
      row.id,
      row.kind,
      row.source,
      instant(row.at),
      statusInWords(row),
      String(row.created),
      String(row.unchanged),
      String(row.rejected),
      String(row.stations_created),
      instant(row.first_at),
      instant(row.last_at),
    ]),
  );
}

function statusInWords({ status }: ImportRow): string {
  if (status === "running") return "running or cut off";
  return status === "undoing" ? "being taken back" : status;
}
