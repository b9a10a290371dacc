import { basename, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { findImport, type ImportRow, listImports } from "../feeds/imports/service.ts";
import { undoImport } from "../feeds/imports/undo.ts";
import { removeOldReports, reportsDirectory, spoolDirectory, TRIP_REPORT_NAME } from "../feeds/report-files.ts";
import { importTrips } from "../feeds/trips/import.ts";
import { inBinaryUnits } from "../feeds/trips/inputs.ts";
import type { RefusedFile, TripImportOptions, TripImportResult, TripProgress } from "../feeds/trips/options.ts";
import { openTimeZone, type TimeShift } from "../feeds/trips/trip-times.rules.ts";
import {
  type CliContext,
  type OpenCli,
  type ParentCommand,
  runOnSystem,
  stopSignal,
  type SystemContext,
} from "./context.ts";
import { option, sourceName } from "./options.ts";
import { type Columns, PROGRESS_INTERVAL_MS, type Result, table } from "./output.ts";

/*
 * The commands `import trips`, `import list` and `import undo`.
 */

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

/** Registers `import list` and `import undo`. */
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

/**
 * Adds `import trips` to the command `import`.
 * @param openStandardInput opens the input of `-`
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
      "trip files of Citi Bike, Divvy, Bluebikes, other Lyft systems or Urban Sharing; zip archives or folders of them; their URLs; or - for standard input",
    )
    .addOption(
      option(
        "--time-zone <IANA>",
        "the time zone of the files' local times, such as America/New_York",
        openTimeZone,
      ).makeOptionMandatory(),
    )
    .addOption(
      option(
        "--source <name>",
        "the origin of the rides; part of the ride ids that old files lack",
        tripSourceName,
      ).default("trips"),
    )
    .option("--dry-run", "show what the import would do, and write nothing")
    .option("--report <file>", "where to write the rejected rows (default: a file in DATA_DIR/reports)")
    .action((files, { timeZone: zone, source, dryRun: isTrial = false, report }) =>
      runOnSystem(cli(), async (context) => {
        const input = { files, standardInput: openStandardInput(), zone, source, isTrial };
        return resultOf(context, input, await importFiles(context, input, report));
      }),
    );
}

/** What the options of `import trips` give. */
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
    spoolDirectory: spoolDirectory(config),
    onProgress: progressLine(context),
    signal: stopSignal(context, input.isTrial ? "Stopped." : STOPPED),
  });
  await removeOldReports(reportsDirectory(config), TRIP_REPORT_NAME);
  return result;
}

async function resultOf(
  { db, output, systemId, systemOption }: SystemContext,
  { isTrial, zone }: Input,
  result: TripImportResult,
): Promise<Result> {
  const { id, ...rest } = result;
  const { rows, created, unchanged, rejected, reasons, stations_created: stations, refused, report, warnings } = result;
  const shift = result.time_shift;
  if (shift !== null) {
    const earlier = shift.import_id === null ? undefined : await findImport(db, systemId, shift.import_id);
    output.note(shiftText(shift, zone.name, earlier, systemOption));
  }
  return {
    object: isTrial ? { dry_run: true, ...rest } : { id, ...rest },
    facts: {
      ...(isTrial ? {} : { import: id }),
      rows: { rows, created, unchanged, rejected },
      ...(rejected === 0 ? {} : { reasons }),
      "rides started (UTC)": result.first === null ? null : `${result.first} to ${result.last ?? ""}`,
      ...(Object.keys(warnings).length === 0 ? {} : { warnings }),
      "stations created": stations,
      ...(refused.length === 0 ? {} : { "files refused": refused.length }),
      ...(result.skipped.length === 0 ? {} : { "files skipped": result.skipped }),
      report,
    },
    notes: [
      ...Object.keys(warnings).flatMap((name) => explained[name] ?? []),
      ...(isTrial ? ["Nothing was written (--dry-run)."] : []),
    ],
    failure: refused.length > 0 || tookNearlyNothing(result) ? failureText(result) : undefined,
  };
}

/** Explanations of warnings whose names do not explain them. */
const explained: Readonly<Record<string, string>> = {
  overlapping_ride: "Overlapping ride: it overlaps with another ride of its bike.",
  time_never_shown: "Time never shown: it lies in the hour that clocks skipped, and was moved.",
  time_shown_twice: "Time shown twice: it lies in the hour that clocks repeated; the likelier instant was taken.",
};

const STOPPED =
  'Stopped. What was written stays: run the same command again to complete it, or undo it ("import list" shows its id).';

function tripSourceName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text)) return sourceName(text);
  throw new Error("must be 1 to 64 letters, digits, dots, dashes or underscores");
}

/** Minimum progress for an estimate of the time left: milliseconds and share. Too low: the estimate jumps. */
const GUESS_AFTER_MS = 3_000;
const GUESS_AFTER_SHARE = 0.01;

/** Draws the step, its rate, the share that is done and the time left, at intervals. While fetching, `rows` are bytes. */
function progressLine({ clock, output }: CliContext): (progress: TripProgress) => void {
  const begunAt = clock();
  let drawnAt = begunAt;
  /** When the shown step of the shown file began. */
  let since = begunAt;
  let shown = "";
  return ({ file, doing, rows, share }) => {
    const at = clock();
    const what = `${doing} ${basename(file)}`;
    // Steps may overlap, such as reading a file and writing its rides. So the line keeps to one step for a whole
    // interval at least, unless another one begins (it has no rows yet). The rate is that of the shown step.
    if (what !== shown && (rows === 0 || at - drawnAt >= PROGRESS_INTERVAL_MS)) {
      shown = what;
      since = drawnAt;
    }
    if (what !== shown || at - drawnAt < PROGRESS_INTERVAL_MS) return;
    drawnAt = at;
    if (doing === "fetching") return output.progress(`${what}: ${inBinaryUnits(rows)}`);
    const rate = Math.round((rows * 1000) / Math.max(1, at - since));
    const done = `${Math.floor(share * 100)} % of all${timeLeft(at - begunAt, share)}`;
    return output.progress(`${done}; ${what}: ${grouped(rows)} rows, ${grouped(rate)} a second`);
  };
}

function timeLeft(elapsed: number, share: number): string {
  if (elapsed < GUESS_AFTER_MS || share < GUESS_AFTER_SHARE) return "";
  const seconds = Math.ceil((elapsed / share - elapsed) / 1000);
  if (seconds < 60) return `, ${seconds} s left`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `, ${minutes} min left` : `, ${Math.floor(minutes / 60)} h ${minutes % 60} min left`;
}

/** The command fails when the import takes less than one row in so many. */
const LEAST_TAKEN = 20;

/** Tells whether so few rows were taken that the whole file is probably wrong. */
function tookNearlyNothing({ rows, created, unchanged }: TripImportResult): boolean {
  return rows > 0 && (created + unchanged) * LEAST_TAKEN < rows;
}

/** Returns why the command fails: the rejected files, or that nearly nothing was imported. */
function failureText(result: TripImportResult): string {
  const lines = result.refused.map(rejectionText);
  if (tookNearlyNothing(result)) {
    const { rows, created, unchanged, reasons } = result;
    // The most frequent reason.
    const [reason] = Object.entries(reasons).toSorted(([, a], [, b]) => b - a)[0] ?? ["rejected"];
    const taken = created + unchanged;
    const few = taken === 0 ? "None" : `Only ${grouped(taken)}`;
    lines.push(`${few} of ${grouped(rows)} rows could be taken; most were rejected as ${reason}.`);
  }
  return lines.join("\n");
}

/** Explains rows whose ride ids are stored with other times. @param earlier the import that stored them */
function shiftText(
  { rows, seconds }: TimeShift,
  zone: string,
  earlier: ImportRow | undefined,
  systemOption: string,
): string {
  const hours = Math.abs(seconds) / 3600;
  const moved = `${Number(hours.toFixed(2))} h ${seconds < 0 ? "earlier" : "later"}`;
  const lines = [
    `${grouped(rows)} rows have the ids of rides that are stored with other times, most of them ${moved}. Was it another time zone?`,
  ];
  if (earlier === undefined) return lines.join("\n");
  const earlierZone = zoneOf(earlier);
  lines.push(
    earlierZone === undefined || earlierZone === zone
      ? `They came with import ${earlier.id}.`
      : `They came with import ${earlier.id}, which read them as ${earlierZone}; this one reads them as ${zone}.`,
    `If those times are wrong: bikeshare ${systemOption}import undo ${earlier.id}, then import the files again.`,
  );
  return lines.join("\n");
}

function zoneOf({ detail }: ImportRow): string | undefined {
  if (typeof detail !== "object" || detail === null || !("time_zone" in detail)) return undefined;
  return typeof detail.time_zone === "string" ? detail.time_zone : undefined;
}

function rejectionText({ file, row, message }: RefusedFile): string {
  return `${file}${row === null ? "" : `, row ${row}`}: refused, nothing of it was imported: ${message}`;
}

function grouped(n: number): string {
  return n.toLocaleString("en-US");
}
