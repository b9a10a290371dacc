import type { Command } from "commander";
import { type PollResult, type FeedProblem, startFollowing } from "../feeds/gbfs/follow.ts";
import type { ImportCounts, ImportOutcome } from "../feeds/gbfs/import.ts";
import { type ReplayOutcome, replaySnapshots } from "../feeds/gbfs/replay.ts";
import { describePendingStations, writeReport } from "../feeds/gbfs/report.ts";
import { importGbfs } from "../feeds/gbfs/service.ts";
import { reportsDirectory } from "../feeds/report-files.ts";
import type { StationsWaiting } from "../fleet/station-snapshot.ts";
import { duration } from "../startup/values.ts";
import { type CliContext, withSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";

const sourceOption = ["--source <name>", "the feed's name among the sources of this system", "gbfs"] as const;

interface ImportOptions {
  readonly source: string;
  readonly force?: boolean;
}

interface ReplayOptions {
  readonly source: string;
  readonly information?: string;
}

interface SyncOptions extends ImportOptions {
  readonly every: number;
}

/** `import gbfs`: one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1. */
export function registerImportGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("import one snapshot of a GBFS system's stations and bikes")
    .argument("<location>", "a directory of saved feeds, or the URL of gbfs.json")
    .option(...sourceOption)
    .option("--force", "import even where the source names another system_id than before")
    .action((location: string, options: ImportOptions) => importSnapshot(context(), location, options));
}

/** `replay gbfs`: a series of station_status snapshots, in order, at their own times. */
export function registerReplayGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("apply a series of station_status snapshots, in order and at their own times")
    .argument("<file>", "station_status documents, one a line; plain or gzip")
    .option(...sourceOption)
    .option(
      "--information <file>",
      "a station_information.json: names and locations of stations that are not known yet",
    )
    .action((file: string, options: ReplayOptions) => replay(context(), file, options));
}

/** `sync gbfs`: follows a live feed until it is stopped; a line per round. */
export function registerSyncGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("follow a live GBFS feed until SIGTERM or SIGINT")
    .argument("<url>", "the URL of gbfs.json")
    // More often than each second is unfair to any feed; less often than daily does not follow it.
    .addOption(
      option(
        "--every <duration>",
        "time between two requests, 1s to 1d; a feed's own ttl may make it longer",
        duration("1s", "1d"),
        "30s",
      ),
    )
    .option(...sourceOption)
    .option("--force", "import the first snapshot even where the source names another system_id than before")
    .action((url: string, options: SyncOptions) => sync(context(), url, options));
}

async function importSnapshot(cli: CliContext, location: string, { source, force }: ImportOptions): Promise<void> {
  const { output, config } = cli;
  await withSystem(cli, async ({ db, ...context }, systemId) => {
    const outcome = await importGbfs(db, {
      ...context,
      location,
      systemId,
      source,
      force,
      importId: context.ids.next("gbfs"),
      reportDirectory: reportsDirectory(config),
    });
    for (const remark of importRemarks(outcome)) output.note(remark);
    const { id, stations, bikes, report, reading, applied } = outcome;
    const failed = reading.failures.map(({ feed, message }) => ({ feed, message }));
    const waiting = waitingJson(applied.stations.waiting);
    output.result(
      { id, stations, bikes, older: applied.late, failed, waiting, report },
      importText(outcome, id, report),
    );
    if (outcome.isNothingStored) throw new Error(nothingImported(outcome));
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

function importText({ stations, bikes }: ImportOutcome, id: string | null, report: string | null): string {
  const line = (name: string, counts: ImportCounts) =>
    `${name} ${Object.entries(counts)
      .map(([what, n]) => `${n} ${what}`)
      .join(", ")}`;
  const lines = [line("Stations:", stations), line("Bikes:   ", bikes)];
  if (report !== null) lines.push(`Report:   ${report}`);
  // Without an id nothing was changed, and nothing can be undone.
  if (id !== null) lines.push(`Import:   ${id}`);
  return lines.join("\n");
}

/** Stations that wait for the other feed, as `--json` shows them. */
function waitingJson({ withoutInformation, withoutStatus }: StationsWaiting): Record<string, number> {
  return { without_information: withoutInformation, without_status: withoutStatus };
}

/** Milliseconds between two progress lines. More often flickers; more rarely looks as if it hung. */
const PROGRESS_INTERVAL_MS = 200;
/** Skipped lines that are named on the terminal; the report has them all. */
const MAX_LINES_SHOWN = 5;

async function replay(cli: CliContext, file: string, options: ReplayOptions): Promise<void> {
  const { config, ids, output, signals } = cli;
  const stop = new AbortController();
  signals.untilStopped().then(
    () => stop.abort(new Error("Stopped. What was applied stays; run the same command again to complete it.")),
    (error: unknown) => stop.abort(error),
  );
  await withSystem(cli, async (context, systemId) => {
    const outcome = await replaySnapshots({
      ...context,
      systemId,
      source: options.source,
      file,
      information: options.information,
      onProgress: progressLine(cli),
      signal: stop.signal,
    });
    output.progress(undefined);
    const report = await writeReport(reportsDirectory(config), ids.next("replay"), outcome.problems);
    for (const remark of replayRemarks(outcome)) output.note(remark);
    const { snapshots, events, failed, waiting } = outcome;
    const result = {
      snapshots,
      events,
      failed: failed.length,
      waiting: waitingJson(waiting),
      report,
    };
    output.result(result, replayText(outcome, report));
    if (snapshots === 0) throw new Error("The file has no station_status snapshot; nothing was changed.");
  });
}

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

async function sync(cli: CliContext, url: string, { every, source, force = false }: SyncOptions): Promise<void> {
  const { config, output, signals } = cli;
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new UsageError("<url> must be the http or https URL of a gbfs.json.");
  const stopped = signals.untilStopped();
  await withSystem(cli, async (context, systemId) => {
    const following = startFollowing({
      ...context,
      url,
      intervalMs: every,
      systemId,
      source,
      force,
      reportDirectory: reportsDirectory(config),
      log: (round) => output.result({ ...round }, roundText(round)),
    });
    await stopped;
    await following.close();
  });
}

function roundText({ at, outcome, stations, bikes, events, failures, ages, report }: PollResult): string {
  const parts = [
    ...(stations ? [`stations ${countsText(stations)}`] : []),
    ...(bikes ? [`bikes ${countsText(bikes)}`] : []),
    ...Object.entries(events).map(([name, n]) => `${n} ${name}`),
    ...failures.map((failure) => describeFailure(failure, ages[failure.feed])),
    ...(report === null ? [] : [`report ${report}`]),
  ];
  return `${at} ${outcome}${parts.length ? `: ${parts.join("; ")}` : ""}`;
}

function describeFailure({ feed, message, since, retry_at }: FeedProblem, age: number | null | undefined): string {
  if (feed === "") return message;
  const good = typeof age === "number" ? `last good ${age} s ago` : "never good yet";
  return `${feed} failed: ${message} (since ${since}, ${good}, next request at ${retry_at})`;
}

function countsText(counts: ImportCounts): string {
  const some = Object.entries(counts).filter(([, n]) => n !== 0);
  return some.length ? some.map(([what, n]) => `${n} ${what}`).join(", ") : "none";
}
