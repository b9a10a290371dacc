import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { publishedGbfsVersions } from "@bikeshare/contract";
import { type FeedConsumer, feedConsumers, type FeedReport } from "@bikeshare/contract/console";
import { checkFeed } from "../feeds/gbfs-check/check.ts";
import type { FeedFiles } from "../feeds/gbfs-check/feed-set.ts";
import { followVehicles } from "../feeds/gbfs-check/follow-vehicles.ts";
import { isPublishedVersion, readOwnFeed } from "../feeds/gbfs-check/own-feed.ts";
import { createFileReader, readAddress } from "../feeds/gbfs-check/read-address.ts";
import { readFolder } from "../feeds/gbfs-check/read-folder.ts";
import { reportPage } from "../feeds/gbfs-check/report-page.ts";
import { reportText } from "../feeds/gbfs-check/report-text.ts";
import { isAddress } from "../feeds/outgoing.ts";
import { integer } from "../runtime/startup/values.ts";
import { type CliContext, type OpenCli, type ParentCommand, stopSignal } from "./context.ts";
import { listOf, option, UsageError } from "./options.ts";
import type { Result } from "./output.ts";

interface CheckSettings {
  readonly for?: readonly FeedConsumer[] | undefined;
  readonly html?: string | undefined;
  readonly follow?: number | undefined;
}

/** `gbfs check`: what is wrong with a feed, and what planners lose by that. */
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
  const isOwn = location === "own" || location.startsWith("own/");
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
    const baseUrl = () => cli.config.publicUrl ?? `http://${cli.config.host}:${cli.config.port}`;
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
