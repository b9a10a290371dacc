import type { StationsWaiting } from "../city/fleet/station-snapshot-tally.ts";
import { type PollResult, type FeedProblem, startFollowing } from "../feeds/gbfs/follow.ts";
import { importGbfs, type ImportCounts, type ImportOutcome } from "../feeds/gbfs/import.ts";
import { type ReplayOutcome, replaySnapshots } from "../feeds/gbfs/replay.ts";
import { describePendingStations, writeReport } from "../feeds/gbfs/report.ts";
import { reportsDirectory } from "../feeds/report-files.ts";
import { duration } from "../runtime/startup/values.ts";
import { FLEET_TABLES, careForTables } from "../storage/db/vacuum.ts";
import { type CliContext, type OpenCli, type ParentCommand, stopSignal, withSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";
import { PROGRESS_INTERVAL_MS } from "./output.ts";

const sourceOption = ["--source <name>", "the feed's name among the sources of this system", "gbfs"] as const;

/** `import gbfs`: one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1. */
export function registerImportGbfs(parent: ParentCommand, cli: OpenCli): void {
  parent
    .command("gbfs")
    .description("import one snapshot of a GBFS system's stations and bikes")
    .argument("<location>", "a directory of saved feeds, or the URL of gbfs.json")
    .option(...sourceOption)
    .option("--force", "import even where the source names another system_id than before")
    .option("--dry-run", "read everything and say what would change; nothing is written")
    .action((location, { dryRun: isTrial = false, ...options }) =>
      withSystem(cli(), async (context) => {
        const { output } = context;
        const importId = context.ids.next("gbfs");
        const reportDirectory = reportsDirectory(context.config);
        const settings = { ...context, ...options, location, importId, reportDirectory, isTrial };
        const outcome = await importGbfs(context.db, settings);
        await careForTables(context.db.connectionString, FLEET_TABLES);
        for (const remark of importRemarks(outcome)) output.note(remark);
        const { id, stations, bikes, report, reading, applied, problems } = outcome;
        const failed = reading.failures.map(({ feed, message }) => ({ feed, message }));
        const waiting = waitingJson(applied.stations.waiting);
        const common = { stations, bikes, older: applied.late, failed, waiting, not_taken: outcome.notTaken };
        const result = isTrial ? { dry_run: true, ...common, problems: problems.length } : { id, ...common, report };
        output.result(result, importText(outcome, isTrial));
        if (outcome.isNothingStored) throw new Error(nothingImported(outcome));
      }),
    );
}

/** `replay gbfs`: a series of station_status snapshots, in order, at their own times. */
export function registerReplayGbfs(parent: ParentCommand, cli: OpenCli): void {
  parent
    .command("gbfs")
    .description("apply a series of station_status snapshots, in order and at their own times")
    .argument("<file>", "station_status documents, one a line; plain or gzip")
    .option(...sourceOption)
    .option(
      "--information <file>",
      "a station_information.json: names and locations of stations that are not known yet",
    )
    .action((file, options) => {
      // Heard from now on: opening the database may take long.
      const signal = stopSignal(cli(), "Stopped. What was applied stays; run the same command again to complete it.");
      return withSystem(cli(), async (context) => {
        const { output } = context;
        const onProgress = progressLine(context);
        const outcome = await replaySnapshots({ ...context, ...options, file, onProgress, signal });
        await careForTables(context.db.connectionString, FLEET_TABLES);
        output.progress(undefined);
        const { snapshots, events, failed, problems } = outcome;
        const report = await writeReport(reportsDirectory(context.config), context.ids.next("replay"), problems);
        for (const remark of replayRemarks(outcome)) output.note(remark);
        const result = { snapshots, events, failed: failed.length, waiting: waitingJson(outcome.waiting), report };
        output.result(result, replayText(outcome, report));
        if (snapshots === 0) throw new Error("The file has no station_status snapshot; nothing was changed.");
      });
    });
}

/** `sync gbfs`: follows a live feed until it is stopped; a line per round. */
export function registerSyncGbfs(parent: ParentCommand, cli: OpenCli): void {
  // More often than each second is unfair to any feed; less often than daily does not follow it.
  const interval = duration("1s", "1d");
  parent
    .command("gbfs")
    .description("follow a live GBFS feed until SIGTERM or SIGINT")
    .argument("<url>", "the URL of gbfs.json")
    .addOption(
      option(
        "--every <duration>",
        "time between two requests, 1s to 1d; a feed's own ttl may make it longer",
        interval,
      ).default(interval("30s"), "30s"),
    )
    .option(...sourceOption)
    .option("--force", "import the first snapshot even where the source names another system_id than before")
    .action((url, { every: intervalMs, source, force = false }) => {
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
        throw new UsageError("<url> must be the http or https URL of a gbfs.json.");
      const stopped = cli().signals.untilStopped();
      return withSystem(cli(), async (context) => {
        const following = startFollowing({
          ...context,
          ...{ source, url, intervalMs, force, staleAfterMs: context.config.gbfsStaleAfterMs },
          reportDirectory: reportsDirectory(context.config),
          log: (round) => context.output.result({ ...round }, roundText(round)),
        });
        await stopped;
        await following.close();
      });
    });
}

function nothingImported({ applied, stations, bikes }: ImportOutcome): string {
  if (applied.late.length > 0) return "Nothing was imported: a newer snapshot of this source has been applied already.";
  const rejected = stations.rejected + bikes.rejected;
  return `Nothing was imported: all ${rejected} records were rejected; the report says why.`;
}

function importRemarks({ reading, applied }: ImportOutcome): string[] {
  const waiting = describePendingStations(applied.stations.waiting);
  return [
    ...reading.failures.map(({ feed, message }) => `${feed} was left out: ${message}`),
    ...applied.late.map((feed) => `${feed} is older than the one applied before, whose newer records stay.`),
    ...(waiting === undefined ? [] : [waiting]),
  ];
}

function importText(outcome: Awaited<ReturnType<typeof importGbfs>>, isTrial: boolean): string {
  const { id, stations, bikes, report, notTaken, problems } = outcome;
  const countsOf = (counts: ImportCounts) => Object.entries(counts).map(([what, n]) => `${n} ${what}`);
  const lines = [`Stations: ${countsOf(stations).join(", ")}`, `Bikes:    ${countsOf(bikes).join(", ")}`];
  if (notTaken.length > 0) lines.push(`Left out: ${notTaken.join(", ")}`);
  if (isTrial) lines.push(`Problems: ${problems.length}`, "Nothing was written.");
  if (report !== null) lines.push(`Report:   ${report}`);
  // Without an id nothing was changed, and nothing can be undone.
  if (id !== null) lines.push(`Import:   ${id}`);
  return lines.join("\n");
}

/** Stations that wait for the other feed, as `--json` shows them. */
function waitingJson({ withoutInformation, withoutStatus }: StationsWaiting): Record<string, number> {
  return { without_information: withoutInformation, without_status: withoutStatus };
}

/** Skipped lines that are named on the terminal; the report has them all. */
const MAX_LINES_SHOWN = 5;

function progressLine({ clock, output }: CliContext) {
  let drawnAt = clock();
  return ({ snapshots, at }: { readonly snapshots: number; readonly at: number }) => {
    if (clock() - drawnAt < PROGRESS_INTERVAL_MS) return;
    drawnAt = clock();
    output.progress(`${snapshots} snapshots, up to ${new Date(at).toISOString()}`);
  };
}

function replayRemarks({ failed, waiting }: ReplayOutcome): string[] {
  const named = failed.slice(0, MAX_LINES_SHOWN).map(({ line, reason }) => `Line ${line} was skipped: ${reason}`);
  if (failed.length > MAX_LINES_SHOWN) named.push(`${failed.length - MAX_LINES_SHOWN} more lines were skipped.`);
  const remark = describePendingStations(waiting);
  return remark === undefined ? named : [...named, `${remark} Give --information, or run import gbfs.`];
}

function replayText({ snapshots, events, failed }: ReplayOutcome, report: string | null): string {
  const counted = Object.entries(events).map(([name, n]) => `${n} ${name}`);
  const lines = [
    `Snapshots: ${snapshots} applied, ${failed.length} lines skipped`,
    `Events:    ${counted.length ? counted.join(", ") : "none"}`,
  ];
  return [...lines, ...(report === null ? [] : [`Report:    ${report}`])].join("\n");
}

function roundText(round: PollResult): string {
  const { at, outcome, stations, bikes, events, failures, ages, stale, older, report } = round;
  const parts = [
    ...(stations ? [`stations ${countsText(stations)}`] : []),
    ...(bikes ? [`bikes ${countsText(bikes)}`] : []),
    ...Object.entries(events).map(([name, n]) => `${n} ${name}`),
    ...older.map((feed) => `${feed} is older than the one applied before`),
    ...stale.map(({ feed, message }) => `${feed} is stale: ${message}`),
    ...failures.map((failure) => describeFailure(failure, ages[failure.feed])),
    ...(report === null ? [] : [`report ${report}`]),
  ];
  return `${at} ${outcome}${parts.length ? `: ${parts.join("; ")}` : ""}`;
}

function describeFailure({ feed, message, since, retry_at }: FeedProblem, age: number | null | undefined): string {
  if (feed === "") return `${message} (next request at ${retry_at})`;
  const good = typeof age === "number" ? `last good ${age} s ago` : "never good yet";
  return `${feed} failed: ${message} (since ${since}, ${good}, next request at ${retry_at})`;
}

function countsText(counts: ImportCounts): string {
  const some = Object.entries(counts).filter(([, n]) => n !== 0);
  return some.length ? some.map(([what, n]) => `${n} ${what}`).join(", ") : "none";
}
