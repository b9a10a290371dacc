import { join } from "node:path";
import type { Command } from "commander";
import { type FollowRound, type RoundFailure, startFollowing } from "../feeds/gbfs/follow.ts";
import type { ImportCounts } from "../feeds/gbfs/import.ts";
import type { CliContext } from "./context.ts";
import { readDuration, systemOption } from "./options.ts";
import { UsageError } from "./usage-error.ts";

interface Options {
  readonly every: string;
  readonly source: string;
  readonly force?: boolean;
}

/** `sync gbfs`: follows a live feed until it is told to stop; a line per round. */
export function registerSyncGbfs(parent: Command, context: () => CliContext): void {
  parent
    .command("gbfs")
    .description("follow a live GBFS feed until SIGTERM or SIGINT")
    .argument("<url>", "the address of gbfs.json")
    .option("--every <duration>", "time between two looks, 1s to 1d; a feed's own ttl may make it longer", "30s")
    .option("--source <name>", "the feed's name among the sources of this system", "gbfs")
    .option("--force", "take the first snapshot even where the source names another system_id than before")
    .action((url: string, options: Options, command: Command) => run(context(), url, options, systemOption(command)));
}

async function run(cli: CliContext, url: string, options: Options, system: string | undefined): Promise<void> {
  const { clock, config, ids, output, signals } = cli;
  // More often than each second is no courtesy to any feed; a round a day is the least that follows.
  const every = readDuration("--every", options.every, "1s", "1d");
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new UsageError("<url> must be the http or https address of a gbfs.json.");
  const stopped = signals.untilStopped();
  await cli.withDatabase(async (db) => {
    const following = startFollowing({
      db,
      clock,
      ids,
      url,
      every,
      systemId: await cli.resolveSystem(db, system),
      source: options.source,
      force: options.force ?? false,
      reportDirectory: join(config.dataDir, "reports"),
      log: (round) => output.result({ ...round }, inWords(round)),
    });
    await stopped;
    await following.close();
  });
}

function inWords({ at, outcome, stations, bikes, events, failures, ages, report }: FollowRound): string {
  const parts = [
    ...(stations ? [`stations ${counted(stations)}`] : []),
    ...(bikes ? [`bikes ${counted(bikes)}`] : []),
    ...Object.entries(events).map(([name, n]) => `${n} ${name}`),
    ...failures.map((failure) => describeFailure(failure, ages[failure.feed])),
    ...(report === null ? [] : [`report ${report}`]),
  ];
  return `${at} ${outcome}${parts.length ? `: ${parts.join("; ")}` : ""}`;
}

function describeFailure({ feed, message, since, retry_at }: RoundFailure, age: number | null | undefined): string {
  if (feed === "") return message;
  const good = typeof age === "number" ? `last good ${age} s ago` : "never good yet";
  return `${feed} failed: ${message} (since ${since}, ${good}, asked again from ${retry_at})`;
}

function counted(counts: ImportCounts): string {
  const some = Object.entries(counts).filter(([, n]) => n !== 0);
  return some.length ? some.map(([what, n]) => `${n} ${what}`).join(", ") : "none";
}
