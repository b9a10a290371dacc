import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { type Command, InvalidArgumentError } from "commander";
import type { Database } from "../db/database.ts";
import { importTrips } from "../feeds/trips/import.ts";
import type { TripImportResult } from "../feeds/trips/options.ts";
import { openTimeZone, type TimeZone, UnknownTimeZone } from "../feeds/trips/time-zone.rules.ts";
import { importWithId } from "../imports/service.ts";
import type { CliContext } from "./context.ts";
import { progressLine } from "./import-progress.ts";
import { failureInWords, resultInWords, shiftInWords, tookNearlyNothing } from "./import-trips-text.ts";
import { pruneReports, reportsDirectory } from "./reports.ts";

interface Options {
  readonly timeZone: TimeZone;
  readonly source: string;
  readonly dryRun?: boolean;
  readonly report?: string;
  /** One of the program's own options. */
  readonly system?: string;
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
    .requiredOption("--time-zone <IANA>", "zone of the files' local times, such as America/New_York", readTimeZone)
    .option("--source <name>", "where the rides come from; part of the ids that old files lack", readSource, "trips")
    .option("--dry-run", "say what the import would do, and write nothing")
    .option("--report <file>", "where to write what was rejected, instead of a file in DATA_DIR/reports")
    .action(async (files: string[], _options: unknown, command: Command) => {
      await run(context(), openStandardInput, files, command.optsWithGlobals<Options>());
    });
}

async function run(
  context: CliContext,
  openStandardInput: () => Readable,
  files: readonly string[],
  options: Options,
): Promise<void> {
  const { output } = context;
  const isTrial = options.dryRun === true;
  await context.withDatabase(async (db) => {
    const systemId = await context.resolveSystem(db, options.system);
    const result = await importWith(context, openStandardInput, db, systemId, files, options);
    output.progress(undefined);
    const shift = result.time_shift;
    const earlierId = shift?.import_id ?? null;
    const earlier = earlierId === null ? undefined : await importWithId(db, systemId, earlierId);
    const { id, ...rest } = result;
    const object = isTrial ? { dry_run: true, ...rest } : { id, ...rest };
    output.result(object, resultInWords(result, isTrial));
    if (shift !== null) output.note(shiftInWords(shift, options.timeZone.name, earlier));
    // The result is printed; this makes the command fail.
    if (result.refused.length > 0 || tookNearlyNothing(result)) throw new Error(failureInWords(result));
  });
}

async function importWith(
  context: CliContext,
  openStandardInput: () => Readable,
  db: Database,
  systemId: string,
  files: readonly string[],
  options: Options,
): Promise<TripImportResult> {
  const { config, clock, ids, actor, signals } = context;
  const isTrial = options.dryRun === true;
  const stop = new AbortController();
  signals.untilStopped().then(
    () => stop.abort(new Error(isTrial ? "Stopped." : stopped)),
    (error: unknown) => stop.abort(error),
  );
  const importId = ids.next("import");
  const ownReport = isTrial ? null : join(reportsDirectory(config), `${importId}.ndjson`);
  const result = await importTrips({
    db,
    systemId,
    files,
    standardInput: openStandardInput(),
    zone: options.timeZone,
    source: options.source,
    clock,
    ids,
    actor,
    importId,
    isTrial,
    reportPath: options.report === undefined ? ownReport : resolve(options.report),
    spoolDirectory: join(config.dataDir, "spool"),
    onProgress: progressLine(context),
    signal: stop.signal,
  });
  await pruneReports(reportsDirectory(config));
  return result;
}

const stopped =
  'Stopped. What was written stays: run the same command again to complete it, or take it back ("import list" shows its id).';

function readTimeZone(name: string): TimeZone {
  try {
    return openTimeZone(name);
  } catch (error) {
    if (error instanceof UnknownTimeZone) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

function readSource(name: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name)) return name;
  throw new InvalidArgumentError("must be 1 to 64 letters, digits, dots, dashes or underscores");
}
