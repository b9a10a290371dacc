import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import type { Command } from "commander";
import type { ActorContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { removeOldReports, reportsDirectory } from "../feeds/report-files.ts";
import { importTrips } from "../feeds/trips/import.ts";
import type { TripImportResult } from "../feeds/trips/options.ts";
import { openTimeZone, type TimeZone } from "../feeds/trips/time-zone.rules.ts";
import { findImport } from "../imports/service.ts";
import { type CliContext, withSystem } from "./context.ts";
import { failureText, progressLine, resultText, shiftText, tookNearlyNothing } from "./import-trips-text.ts";
import { option } from "./options.ts";

/** The reports of trip imports. One is read soon or never, and that of a ruined file has a line for each of its rows. */
const REPORT_NAME = /^import_\w+\.ndjson$/;

interface Options {
  readonly timeZone: TimeZone;
  readonly source: string;
  readonly dryRun?: boolean;
  readonly report?: string;
}

/**
 * Adds `import trips` to the command `import`.
 * @param openStandardInput what `-` names
 */
export function registerImportTrips(
  parent: Command,
  context: () => CliContext,
  openStandardInput: () => Readable = () => process.stdin,
): void {
  parent
    .command("trips")
    .description("import trip history from CSV files: plain, gzip or zip")
    .argument(
      "<file...>",
      "trip files of Citi Bike, Divvy, Bluebikes, other Lyft systems, or Urban Sharing; zip archives or folders of them; their addresses (http, https); or - for standard input",
    )
    .addOption(
      option("--time-zone <IANA>", "zone of the files' local times, such as America/New_York", (name) =>
        openTimeZone(name),
      ).makeOptionMandatory(),
    )
    .addOption(
      option("--source <name>", "where the rides come from; part of the ids that old files lack", sourceName, "trips"),
    )
    .option("--dry-run", "say what the import would do, and write nothing")
    .option("--report <file>", "where to write what was rejected, instead of a file in DATA_DIR/reports")
    .action((files: string[], options: Options) => run(context(), openStandardInput, files, options));
}

async function run(
  cli: CliContext,
  openStandardInput: () => Readable,
  files: readonly string[],
  options: Options,
): Promise<void> {
  const { output } = cli;
  const isTrial = options.dryRun === true;
  await withSystem(cli, async (context, systemId) => {
    const result = await importFiles(cli, context, { openStandardInput, systemId, files, options });
    output.progress(undefined);
    const shift = result.time_shift;
    const earlierId = shift?.import_id ?? null;
    const earlier = earlierId === null ? undefined : await findImport(context.db, systemId, earlierId);
    const { id, ...rest } = result;
    const object = isTrial ? { dry_run: true, ...rest } : { id, ...rest };
    output.result(object, resultText(result, isTrial));
    if (shift !== null) output.note(shiftText(shift, options.timeZone.name, earlier));
    // The result is printed; this makes the command fail.
    if (result.refused.length > 0 || tookNearlyNothing(result)) throw new Error(failureText(result));
  });
}

async function importFiles(
  cli: CliContext,
  context: ActorContext & { readonly db: Database },
  input: {
    readonly openStandardInput: () => Readable;
    readonly systemId: string;
    readonly files: readonly string[];
    readonly options: Options;
  },
): Promise<TripImportResult> {
  const { config, signals } = cli;
  const { options } = input;
  const isTrial = options.dryRun === true;
  const stop = new AbortController();
  signals.untilStopped().then(
    () => stop.abort(new Error(isTrial ? "Stopped." : STOPPED)),
    (error: unknown) => stop.abort(error),
  );
  const importId = context.ids.next("import");
  const ownReport = isTrial ? null : join(reportsDirectory(config), `${importId}.ndjson`);
  const result = await importTrips({
    ...context,
    systemId: input.systemId,
    files: input.files,
    standardInput: input.openStandardInput(),
    zone: options.timeZone,
    source: options.source,
    importId,
    isTrial,
    reportPath: options.report === undefined ? ownReport : resolve(options.report),
    spoolDirectory: join(config.dataDir, "spool"),
    onProgress: progressLine(cli),
    signal: stop.signal,
  });
  await removeOldReports(reportsDirectory(config), REPORT_NAME);
  return result;
}

const STOPPED =
  'Stopped. What was written stays: run the same command again to complete it, or undo it ("import list" shows its id).';

function sourceName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text)) return text;
  throw new Error("must be 1 to 64 letters, digits, dots, dashes or underscores");
}
