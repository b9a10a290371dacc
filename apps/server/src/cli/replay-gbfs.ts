import { join } from "node:path";
import type { Command } from "commander";
import { type ReplayOutcome, replaySnapshots } from "../feeds/gbfs/replay.ts";
import { writeReport, describePendingStations } from "../feeds/gbfs/report.ts";
import type { CliContext } from "./context.ts";
import { systemOption } from "./options.ts";

interface Options {
  readonly source: string;
  readonly information?: string;
}

/** Milliseconds between two progress lines. More often flickers; more rarely looks as if it hung. */
const PROGRESS_EVERY = 200;
/** Skipped lines that are named on the terminal; the report has them all. */
const LINES_NAMED = 5;

/** `replay gbfs`: a series of station_status snapshots, in order, at their own times. */
export function registerReplayGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("apply a series of station_status snapshots, in order and at their own times")
    .argument("<file>", "station_status documents, one a line; plain or gzip")
    .option("--source <name>", "the feed's name among the sources of this system", "gbfs")
    .option("--information <file>", "a station_information.json: names and places of stations that are not known yet")
    .action((file: string, options: Options, command: Command) => run(context(), file, options, systemOption(command)));
}

async function run(cli: CliContext, file: string, options: Options, system: string | undefined): Promise<void> {
  const { clock, config, ids, output, signals } = cli;
  const stop = new AbortController();
  signals.untilStopped().then(
    () => stop.abort(new Error("Stopped. What was applied stays; run the same command again to complete it.")),
    (error: unknown) => stop.abort(error),
  );
  await cli.withDatabase(async (db) => {
    const outcome = await replaySnapshots({
      db,
      clock,
      ids,
      systemId: await cli.resolveSystem(db, system),
      source: options.source,
      file,
      information: options.information,
      onProgress: progressLine(cli),
      signal: stop.signal,
    });
    output.progress(undefined);
    const report = await writeReport(join(config.dataDir, "reports"), ids.next("replay"), outcome.problems);
    for (const remark of remarks(outcome)) output.note(remark);
    const { snapshots, events, failed, waiting } = outcome;
    const result = {
      snapshots,
      events,
      failed: failed.length,
      waiting: { without_information: waiting.withoutInformation, without_status: waiting.withoutStatus },
      report,
    };
    output.result(result, inWords(outcome, report));
    if (snapshots === 0) throw new Error("The file has no station_status snapshot; nothing was changed.");
  });
}

function progressLine({ clock, output }: CliContext) {
  let drawnAt = clock();
  return ({ snapshots, at }: { readonly snapshots: number; readonly at: number }) => {
    if (clock() - drawnAt < PROGRESS_EVERY) return;
    drawnAt = clock();
    output.progress(`${snapshots} snapshots, up to ${new Date(at).toISOString()}`);
  };
}

function remarks({ failed, waiting }: ReplayOutcome): string[] {
  const named = failed.slice(0, LINES_NAMED).map(({ line, reason }) => `Line ${line} was skipped: ${reason}`);
  if (failed.length > LINES_NAMED) named.push(`${failed.length - LINES_NAMED} more lines were skipped.`);
  const remark = describePendingStations(waiting);
  return remark === undefined ? named : [...named, `${remark} Give --information, or run import gbfs.`];
}

function inWords({ snapshots, events, failed }: ReplayOutcome, report: string | null): string {
  const counted = Object.entries(events).map(([name, n]) => `${n} ${name}`);
  const lines = [
    `Snapshots: ${snapshots} applied, ${failed.length} lines skipped`,
    `Events:    ${counted.length ? counted.join(", ") : "none"}`,
  ];
  return [...lines, ...(report === null ? [] : [`Report:    ${report}`])].join("\n");
}
