import { join } from "node:path";
import type { Command } from "commander";
import type { ImportCounts, ImportOutcome } from "../feeds/gbfs/import.ts";
import { describePendingStations } from "../feeds/gbfs/report.ts";
import { importGbfs } from "../feeds/gbfs/service.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";

interface Options {
  readonly source: string;
  readonly force?: boolean;
}

/** `import gbfs`: one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1. */
export function registerImportGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("import one snapshot of a GBFS system's stations and bikes")
    .argument("<location>", "a directory of saved feeds, or the address of gbfs.json")
    .option("--source <name>", "the feed's name among the sources of this system", "gbfs")
    .option("--force", "import even where the source names another system_id than before")
    .action((location: string, options: Options, command: Command) =>
      run(context(), location, options, systemOption(command)),
    );
}

async function run(cli: CliContext, location: string, options: Options, system: string | undefined): Promise<void> {
  const { clock, ids, actor, output, config } = cli;
  await cli.withDatabase(async (db) => {
    const outcome = await importGbfs(db, {
      location,
      systemId: await cli.resolveSystem(db, system),
      source: options.source,
      force: options.force,
      clock,
      ids,
      actor,
      importId: ids.next("gbfs"),
      reportDirectory: join(config.dataDir, "reports"),
    });
    for (const remark of remarks(outcome)) output.note(remark);
    const { id, stations, bikes, report, reading, applied } = outcome;
    const failed = reading.failures.map(({ feed, message }) => ({ feed, message }));
    const waiting = {
      without_information: applied.stations.waiting.withoutInformation,
      without_status: applied.stations.waiting.withoutStatus,
    };
    output.result({ id, stations, bikes, older: applied.late, failed, waiting, report }, text(outcome, id, report));
    if (outcome.isNothingTaken) throw new Error(nothingTaken(outcome));
  });
}

function nothingTaken({ applied, stations, bikes }: ImportOutcome): string {
  if (applied.late.length > 0) return "Nothing was taken: a newer snapshot of this source has been applied already.";
  const rejected = stations.rejected + bikes.rejected;
  return `Nothing was taken: all ${rejected} records were rejected; the report says why.`;
}

function remarks({ reading, applied }: ImportOutcome): string[] {
  const waiting = describePendingStations(applied.stations.waiting);
  return [
    ...reading.failures.map(({ feed, message }) => `${feed} was left out: ${message}`),
    ...applied.late.map((feed) => `${feed} is older than the one applied before, whose newer records stay.`),
    ...(waiting === undefined ? [] : [waiting]),
  ];
}

function text({ stations, bikes }: ImportOutcome, id: string | null, report: string | null): string {
  const line = (name: string, counts: ImportCounts) =>
    `${name} ${Object.entries(counts)
      .map(([what, n]) => `${n} ${what}`)
      .join(", ")}`;
  const lines = [line("Stations:", stations), line("Bikes:   ", bikes)];
  if (report !== null) lines.push(`Report:   ${report}`);
  // Nothing was changed without one, and nothing can be taken back.
  if (id !== null) lines.push(`Import:   ${id}`);
  return lines.join("\n");
}
