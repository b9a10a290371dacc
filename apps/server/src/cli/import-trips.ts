import { basename, join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { importTrips } from "../feeds/trips/import.ts";
import type { RefusedFile, TripImportResult, TripProgress } from "../feeds/trips/order.ts";
import { openTimeZone, type TimeZone, UnknownTimeZone } from "../feeds/trips/time-zone.ts";
import type { CliContext } from "./context.ts";

interface Options {
  readonly timeZone: TimeZone;
  readonly source: string;
  /** One of the program's own options. */
  readonly system?: string;
}

/** Milliseconds between two progress lines. More often flickers; more rarely looks as if it hung. */
const PROGRESS_EVERY = 200;

/** Adds `import trips` to the command `import`. */
export function registerImportTrips(parent: Command, context: () => CliContext): void {
  parent
    .command("trips")
    .description("import trip history from CSV files, plain or gzip")
    .argument("<file...>", "trip files of Citi Bike, Divvy, Bluebikes, other Lyft systems, or Urban Sharing")
    .requiredOption("--time-zone <IANA>", "zone of the files' local times, such as America/New_York", readTimeZone)
    .option("--source <name>", "where the rides come from; part of the ids that old files lack", readSource, "trips")
    .action(async (files: string[], _options: unknown, command: Command) => {
      const { refused } = await run(context(), files, command.optsWithGlobals<Options>());
      // The result is printed; this makes the command fail.
      if (refused.length > 0) throw new Error(refused.map(refusalInWords).join("\n"));
    });
}

async function run(context: CliContext, files: readonly string[], options: Options): Promise<TripImportResult> {
  const { config, clock, ids, output, signals } = context;
  const stop = new AbortController();
  signals.untilStopped().then(
    () => stop.abort(new Error("Stopped. What was written stays; run the same command again to complete it.")),
    (error: unknown) => stop.abort(error),
  );
  return context.withDatabase(async (db) => {
    const systemId = await context.resolveSystem(db, options.system);
    const importId = ids.next("import");
    const result = await importTrips({
      db,
      systemId,
      files,
      zone: options.timeZone,
      source: options.source,
      clock,
      random: () => ids.random(),
      importId,
      reportPath: join(config.dataDir, "reports", `${importId}.ndjson`),
      spoolDirectory: join(config.dataDir, "spool"),
      onProgress: progressLine(context),
      signal: stop.signal,
    });
    output.progress(undefined);
    output.result({ ...result }, inWords(result, files.length));
    return result;
  });
}

/** Draws what is being done and how fast, now and then. */
function progressLine({ clock, output }: CliContext): (progress: TripProgress) => void {
  let drawnAt = clock();
  let since = drawnAt;
  let doing = "";
  return ({ file, doing: now, rows }) => {
    const at = clock();
    const what = `${now} ${basename(file)}`;
    // Reading and writing may overlap; the rate is that of the line that is shown.
    if (what !== doing && (rows === 0 || at - drawnAt >= PROGRESS_EVERY)) {
      doing = what;
      since = drawnAt;
    }
    if (what !== doing || at - drawnAt < PROGRESS_EVERY) return;
    drawnAt = at;
    const rate = Math.round((rows * 1000) / Math.max(1, at - since));
    output.progress(`${what}: ${grouped(rows)} rows, ${grouped(rate)} a second`);
  };
}

function inWords(result: TripImportResult, files: number): string {
  const { rows, created, unchanged, rejected, reasons, stations_created: stations, refused, report } = result;
  const lines = [
    `${grouped(rows)} rows: ${grouped(created)} rides created, ${grouped(unchanged)} unchanged, ${grouped(rejected)} rejected`,
    ...Object.entries(reasons).map(([reason, n]) => `  ${reason}: ${grouped(n)}`),
  ];
  if (stations > 0) lines.push(`${grouped(stations)} unknown stations were added, out of service`);
  if (refused.length > 0) lines.push(`${refused.length} of ${files} files refused`);
  if (report !== null) lines.push(`Report: ${report}`);
  return lines.join("\n");
}

function refusalInWords({ file, row, message }: RefusedFile): string {
  return `${file}${row === null ? "" : `, row ${row}`}: refused, nothing of it was imported: ${message}`;
}

function grouped(n: number): string {
  return n.toLocaleString("en-US");
}

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
