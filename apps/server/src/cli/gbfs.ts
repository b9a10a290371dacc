import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { publishedGbfsVersions } from "@bikeshare/contract";
import { type FeedConsumer, feedConsumers, type FeedReport } from "@bikeshare/contract/console";
import type { StationsWaiting } from "../city/fleet/station-snapshot.ts";
import { checkFeed } from "../feeds/gbfs-check/check.ts";
import type { FeedFiles } from "../feeds/gbfs-check/feed-set.ts";
import { followVehicles } from "../feeds/gbfs-check/follow-vehicles.ts";
import { isPublishedVersion, readOwnFeed } from "../feeds/gbfs-check/own-feed.ts";
import { createFileReader, readAddress } from "../feeds/gbfs-check/read-address.ts";
import { readFolder } from "../feeds/gbfs-check/read-folder.ts";
import { reportPage } from "../feeds/gbfs-check/report-page.ts";
import { reportText } from "../feeds/gbfs-check/report-text.ts";
import { type FeedProblem, NO_FEED, type PollResult, startFollowing } from "../feeds/gbfs/follow.ts";
import { type ImportCounts, importGbfs, type ImportOutcome } from "../feeds/gbfs/import.ts";
import { type ReplayOutcome, replaySnapshots } from "../feeds/gbfs/replay.ts";
import { describePendingStations, writeReport } from "../feeds/gbfs/report.ts";
import { isAddress } from "../feeds/outgoing.ts";
import { reportsDirectory } from "../feeds/report-files.ts";
import { duration, integer } from "../runtime/startup/values.ts";
import { careForTables, FLEET_TABLES } from "../storage/db/vacuum.ts";
import { type CliContext, type OpenCli, type ParentCommand, runOnSystem, stopSignal } from "./context.ts";
import { listOf, option, sourceName, UsageError } from "./options.ts";
import { PROGRESS_INTERVAL_MS, type Result } from "./output.ts";
import { localAddress } from "./serve.ts";

/*
 * The commands `import gbfs`, `replay gbfs`, `sync gbfs` and `gbfs check`. `careForTables` updates PostgreSQL's statistics
 * after a command has written many rows.
 */

const sourceOption = () =>
  option("--source <name>", "the name of this feed among the system's sources", sourceName).default("gbfs");

/** Registers `import gbfs`, which imports one snapshot of all feeds of a GBFS system, versions 1.0 to 3.1. */
export function registerImportGbfs(parent: ParentCommand, cli: OpenCli): void {
  parent
    .command("gbfs")
    .description("import one snapshot of a GBFS system's stations and bikes")
    .argument("<location>", "a directory of saved feeds or the URL of gbfs.json")
    .addOption(sourceOption())
    .option("--force", "import even if the source's system_id has changed")
    .option("--dry-run", "show what would change, and write nothing")
    .action((location, { dryRun: isTrial = false, ...options }) =>
      runOnSystem(cli(), async (context) => {
        const importId = context.ids.next("gbfs");
        const reportDirectory = reportsDirectory(context.config);
        const { stationStaleAfterMs } = context.config;
        const settings = { ...context, ...options, location, importId, reportDirectory, isTrial, stationStaleAfterMs };
        const outcome = await importGbfs(context.db, settings);
        await careForTables(context.db.connectionString, FLEET_TABLES);
        for (const remark of importRemarks(outcome)) context.output.note(remark);
        return importResult(outcome, isTrial);
      }),
    );
}

/**
 * Returns the result of `import gbfs`.
 * @param isTrial whether nothing was written (`--dry-run`), so that there is no report
 */
function importResult(outcome: Awaited<ReturnType<typeof importGbfs>>, isTrial: boolean): Result {
  const { id, stations, bikes, report, reading, applied, problems, notTaken } = outcome;
  const failed = reading.failures.map(({ feed, message }) => ({ feed, message }));
  const waiting = waitingJson(applied.stations.waiting);
  const described = (reading.snapshot.descriptions ?? []).map(({ feed }) => feed);
  const common = { stations, bikes, described, older: applied.late, failed, waiting, not_taken: notTaken };
  const facts = { stations, bikes, described, "not taken": notTaken };
  return {
    object: isTrial ? { dry_run: true, ...common, problems: problems.length } : { id, ...common, report },
    facts: isTrial ? { ...facts, problems: problems.length } : { import: id, ...facts, report },
    notes: isTrial ? ["Nothing was written (--dry-run)."] : [],
    failure: outcome.isNothingStored ? nothingImported(outcome) : undefined,
  };
}

/** Registers `replay gbfs`, which applies a series of station_status snapshots, in order, at their own times. */
export function registerReplayGbfs(parent: ParentCommand, cli: OpenCli): void {
  parent
    .command("gbfs")
    .description("apply a series of station_status snapshots in order, at their own times")
    .argument("<file>", "station_status documents, one a line; plain or gzip")
    .addOption(sourceOption())
    .option("--information <file>", "a station_information.json with the names and locations of unknown stations")
    .action((file, options) => {
      // Listen before opening the database, which may take long.
      const signal = stopSignal(cli(), "Stopped. What was applied stays; run the same command again to complete it.");
      return runOnSystem(cli(), async (context) => {
        const onProgress = progressLine(context);
        const { stationStaleAfterMs } = context.config;
        const replay = { ...context, ...options, file, onProgress, signal, stationStaleAfterMs };
        const outcome = await replaySnapshots(replay);
        await careForTables(context.db.connectionString, FLEET_TABLES);
        const { snapshots, events, failed, problems } = outcome;
        const report = await writeReport(reportsDirectory(context.config), context.ids.next("replay"), problems);
        for (const remark of replayRemarks(outcome)) context.output.note(remark);
        return {
          object: { snapshots, events, failed: failed.length, waiting: waitingJson(outcome.waiting), report },
          facts: { "snapshots applied": snapshots, "lines skipped": failed.length, events, report },
          failure: snapshots === 0 ? `${file} has no station_status snapshot; nothing was changed.` : undefined,
        };
      });
    });
}

/** Registers `sync gbfs`, which follows a live feed until it is stopped, and prints a line for each poll. */
export function registerSyncGbfs(parent: ParentCommand, cli: OpenCli): void {
  // The bounds of `--every`. Too low: floods the feed's server. Too high: does not follow the feed.
  const interval = duration("1s", "1d");
  parent
    .command("gbfs")
    .description("follow a live GBFS feed until SIGTERM or SIGINT")
    .argument("<url>", "the URL of gbfs.json")
    .addOption(
      option("--every <duration>", "time between two polls, 1s to 1d; a feed's ttl may extend it", interval).default(
        interval("30s"),
        "30s",
      ),
    )
    .addOption(sourceOption())
    .option("--force", "import the first snapshot even if the source's system_id has changed")
    .action((url, { every: intervalMs, source, force = false }) => {
      if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
        throw new UsageError(`<url> is ${JSON.stringify(url)}: it must be the http or https URL of a gbfs.json.`);
      const stopped = cli().signals.untilStopped();
      return runOnSystem(cli(), async (context) => {
        const { gbfsStaleAfterMs: staleAfterMs, stationStaleAfterMs } = context.config;
        const following = startFollowing({
          ...context,
          source,
          url,
          intervalMs,
          force,
          staleAfterMs,
          stationStaleAfterMs,
          reportDirectory: reportsDirectory(context.config),
          log: (poll) => context.output.result({ object: poll, text: pollText(poll) }),
        });
        await stopped;
        await following.close();
        return undefined;
      });
    });
}

function nothingImported({ applied, stations, bikes }: ImportOutcome): string {
  if (applied.late.length > 0) return "Nothing was imported: a newer snapshot of this source was applied before.";
  const rejected = stations.rejected + bikes.rejected;
  return `Nothing was imported: all ${rejected} records were rejected; the report gives the reasons.`;
}

function importRemarks({ reading, applied }: ImportOutcome): string[] {
  const waiting = describePendingStations(applied.stations.waiting);
  return [
    ...reading.failures.map(({ feed, message }) => `${feed} was skipped: ${message}`),
    ...applied.late.map((feed) => `${feed} is older than the snapshot applied before, whose newer records stay.`),
    ...(waiting === undefined ? [] : [waiting]),
  ];
}

/** Stations that wait for the other feed, as `--json` prints them. */
function waitingJson({ withoutInformation, withoutStatus }: StationsWaiting): Record<string, number> {
  return { without_information: withoutInformation, without_status: withoutStatus };
}

/** Maximum skipped lines that are printed; the report has all of them. */
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

function pollText(poll: PollResult): string {
  const { at, outcome, stations, bikes, events, failures, ages, stale, older, report } = poll;
  const parts = [
    ...(stations ? [`stations ${countsText(stations)}`] : []),
    ...(bikes ? [`bikes ${countsText(bikes)}`] : []),
    ...Object.entries(events).map(([name, n]) => `${n} ${name}`),
    ...older.map((feed) => `${feed} is older than the snapshot applied before`),
    ...stale.map(({ feed, message }) => `${feed} is stale: ${message}`),
    ...failures.map((failure) => describeFailure(failure, ages[failure.feed])),
    ...(report === null ? [] : [`report ${report}`]),
  ];
  return `${at} ${outcome}${parts.length ? `: ${parts.join("; ")}` : ""}`;
}

function describeFailure({ feed, message, since, retry_at }: FeedProblem, age: number | null | undefined): string {
  // The poll as a whole failed, and not one feed of it.
  if (feed === NO_FEED) return `${message} (next request at ${retry_at})`;
  const good = typeof age === "number" ? `last success ${age} s ago` : "no success yet";
  return `${feed} failed: ${message} (since ${since}, ${good}, next request at ${retry_at})`;
}

function countsText(counts: ImportCounts): string {
  const some = Object.entries(counts).filter(([, n]) => n !== 0);
  return some.length ? some.map(([what, n]) => `${n} ${what}`).join(", ") : "none";
}

interface CheckSettings {
  readonly for?: readonly FeedConsumer[] | undefined;
  readonly html?: string | undefined;
  readonly follow?: number | undefined;
}

/** Registers `gbfs check`, which says what is wrong with a feed, and what trip planners lose because of it. */
export function registerGbfs(program: ParentCommand, cli: OpenCli): void {
  program
    .command("gbfs")
    .description("check feeds")
    .command("check")
    .description("check a GBFS feed and say what planners lose; exit status 1 when it has errors")
    .argument(
      "<location>",
      `the URL of gbfs.json, a folder of saved feeds, or own (also ${publishedGbfsVersions.map((version) => `own/${version}`).join(", ")})`,
    )
    .addOption(option("--for <a,b>", `these readers alone: ${feedConsumers.join(", ")}`, listOf(consumer)))
    .option("--html <file>", "write the report as a page")
    .addOption(option("--follow <minutes>", "watch the vehicles for as long, 1 to 120", integer(1, 120)))
    .action((location, settings) => checkLocation(cli(), location, settings));
}

function consumer(text: string): FeedConsumer {
  const known = feedConsumers.find((each) => each === text);
  if (known === undefined) throw new Error(`must be of ${feedConsumers.join(", ")}`);
  return known;
}

async function checkLocation(cli: CliContext, location: string, settings: CheckSettings): Promise<void> {
  // `own` is the feed that this service publishes: it is read from the database.
  const isOwn = location === "own" || location.startsWith("own/");
  if (settings.follow !== undefined && !isAddress(location))
    throw new UsageError("--follow reads the vehicles again and again: <location> must be a feed's address.");
  if (!isOwn) {
    const files = isAddress(location) ? await readFeedAt(cli, location, settings) : await readFolder(location);
    return print(cli, files, settings);
  }
  const version = location.split("/")[1];
  if (version !== undefined && !isPublishedVersion(version))
    throw new UsageError(
      `<location> is ${JSON.stringify(location)}: it must be of ${publishedGbfsVersions.join(", ")}.`,
    );
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, cli.system);
    const baseUrl = () => cli.config.publicUrl ?? localAddress(cli.config);
    await print(cli, await readOwnFeed({ ...cli, db, baseUrl }, systemId, version), settings);
  });
}

async function readFeedAt(cli: CliContext, location: string, { follow }: CheckSettings): Promise<FeedFiles> {
  const url = URL.parse(location);
  if (url === null) throw new UsageError(`<location> is ${JSON.stringify(location)}: it is no URL.`);
  const signal = stopSignal(cli, "Stopped. Nothing was checked.");
  const options = { monotonic: () => performance.now(), signal };
  const files = await readAddress(url, options);
  if (follow === undefined) return files;
  const followed = await followVehicles(files, {
    minutes: follow,
    read: createFileReader(url, options),
    wait: (milliseconds) => sleep(milliseconds, undefined, { signal }),
    signal,
    onRead: (reads) => cli.output.progress(`The vehicles were read ${reads} times.`),
  });
  return { ...files, followed };
}

async function print(cli: CliContext, files: FeedFiles, settings: CheckSettings): Promise<void> {
  const report = checkFeed(files, { now: cli.clock(), for: settings.for });
  if (settings.html !== undefined) await writeFile(settings.html, reportPage(report));
  cli.output.result(resultOf(report, settings.html));
}

function resultOf(report: FeedReport, page: string | undefined): Result {
  return {
    object: report,
    text: reportText(report),
    notes: page === undefined ? [] : [`The page is ${page}.`],
    failure:
      report.errors === 0 ? undefined : `The feed has ${report.errors} ${report.errors === 1 ? "error" : "errors"}.`,
  };
}
