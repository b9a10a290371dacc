import { join } from "node:path";
import type { Command } from "commander";
import type { ImportCounts, ImportOutcome } from "../feeds/gbfs/import.ts";
import { importGbfs } from "../feeds/gbfs/service.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";

/** `import gbfs`: one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1. */
export function registerImportGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("import one snapshot of a GBFS system's stations and bikes")
    .argument("<location>", "a directory of saved feeds, or the address of gbfs.json")
    .option("--source <name>", "the feed's name among the sources of this system", "gbfs")
    .action(async (location: string, options: { source: string }, command: Command) => {
      const cli = context();
      await cli.withDatabase(async (db) => {
        const outcome = await importGbfs(db, {
          location,
          systemId: await cli.resolveSystem(db, systemOption(command)),
          source: options.source,
          now: cli.clock(),
          ids: cli.ids,
          reports: { directory: join(cli.config.dataDir, "reports"), name: cli.ids.next("gbfs") },
        });
        for (const remark of remarks(outcome)) cli.output.note(remark);
        const { stations, bikes, report } = outcome;
        cli.output.result({ stations, bikes, report }, text(outcome, report));
      });
    });
}

function remarks({ reading, applied }: ImportOutcome): string[] {
  return [
    ...reading.failures.map(({ feed, message }) => `${feed} was left out: ${message}`),
    ...applied.late.map((feed) => `${feed} is older than the one applied before, whose newer records stay.`),
    ...(applied.stations.waiting
      ? [`Station records whose other half has not come yet: ${applied.stations.waiting}`]
      : []),
  ];
}

function text({ stations, bikes }: ImportOutcome, report: string | null): string {
  const line = (name: string, counts: ImportCounts) =>
    `${name} ${Object.entries(counts)
      .map(([what, n]) => `${n} ${what}`)
      .join(", ")}`;
  const lines = [line("Stations:", stations), line("Bikes:   ", bikes)];
  return [...lines, ...(report === null ? [] : [`Report:   ${report}`])].join("\n");
}
