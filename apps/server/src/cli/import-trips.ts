import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { findImport } from "../feeds/imports/service.ts";
import { removeOldReports, reportsDirectory } from "../feeds/report-files.ts";
import { importTrips } from "../feeds/trips/import.ts";
import type { TripImportOptions, TripImportResult } from "../feeds/trips/options.ts";
import { openTimeZone } from "../feeds/trips/time-zone.rules.ts";
import { type OpenCli, type ParentCommand, stopSignal, type SystemContext, withSystem } from "./context.ts";
import { failureText, progressLine, resultText, shiftText, tookNearlyNothing } from "./import-trips-text.ts";
import { option } from "./options.ts";

/** The reports of trip imports. One is read soon or never, and that of a ruined file has a line for each of its rows. */
const REPORT_NAME = /^import_\w+\.ndjson$/;

/**
 * Adds `import trips` to the command `import`.
 * @param openStandardInput what `-` names
 */
export function registerImportTrips(
  parent: ParentCommand,
  cli: OpenCli,
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
      option(
        "--time-zone <IANA>",
        "zone of the files' local times, such as America/New_York",
        openTimeZone,
      ).makeOptionMandatory(),
    )
    .addOption(
      option("--source <name>", "where the rides come from; part of the ids that old files lack", sourceName).default(
        "trips",
      ),
    )
    .option("--dry-run", "say what the import would do, and write nothing")
    .option("--report <file>", "where to write what was rejected, instead of a file in DATA_DIR/reports")
    .action((files, { timeZone: zone, source, dryRun: isTrial = false, report }) =>
      withSystem(cli(), async (context) => {
        const input = { files, standardInput: openStandardInput(), zone, source, isTrial };
        await showResult(context, input, await importFiles(context, input, report));
      }),
    );
}

type Input = Pick<TripImportOptions, "files" | "standardInput" | "zone" | "source" | "isTrial">;

async function importFiles(
  context: SystemContext,
  input: Input,
  report: string | undefined,
): Promise<TripImportResult> {
  const { config } = context;
  const importId = context.ids.next("import");
  const ownReport = input.isTrial ? null : join(reportsDirectory(config), `${importId}.ndjson`);
  const result = await importTrips({
    ...context,
    ...input,
    importId,
    reportPath: report === undefined ? ownReport : resolve(report),
    spoolDirectory: join(config.dataDir, "spool"),
    onProgress: progressLine(context),
    signal: stopSignal(context, input.isTrial ? "Stopped." : STOPPED),
  });
  await removeOldReports(reportsDirectory(config), REPORT_NAME);
  context.output.progress(undefined);
  return result;
}

async function showResult(
  { db, output, systemId }: SystemContext,
  { isTrial, zone }: Input,
  result: TripImportResult,
): Promise<void> {
  const { id, ...rest } = result;
  output.result(isTrial ? { dry_run: true, ...rest } : { id, ...rest }, resultText(result, isTrial));
  const shift = result.time_shift;
  if (shift !== null) {
    const earlier = shift.import_id === null ? undefined : await findImport(db, systemId, shift.import_id);
    output.note(shiftText(shift, zone.name, earlier));
  }
  // The result is printed; this makes the command fail.
  if (result.refused.length > 0 || tookNearlyNothing(result)) throw new Error(failureText(result));
}

const STOPPED =
  'Stopped. What was written stays: run the same command again to complete it, or undo it ("import list" shows its id).';

function sourceName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text)) return text;
  throw new Error("must be 1 to 64 letters, digits, dots, dashes or underscores");
}
