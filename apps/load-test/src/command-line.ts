import { availableParallelism } from "node:os";
import { scenarioNames, scenarios } from "@bikeshare/load";
import { Command, Option } from "@commander-js/extra-typings";
import { duration, integer, listOf, names as namesOf } from "./options.ts";
import { profiles } from "./profiles.ts";
import { METRICS_HELP, parseThreshold } from "./thresholds.ts";

/** Limits of a run, so that a typing error does not become an attack on a service. */
export const MAX_RATE_PER_SECOND = 20_000;
const MAX_DURATION_MS = 3_600_000;
const MAX_CONNECTIONS = 5_000;
const MAX_WORKERS = 64;

const load = {
  profile: new Option("--profile <name>", "a load for a service of its own").choices(Object.keys(profiles)),
  scenario: new Option("--scenario <a,b>", "what to ask for, each at --rate (default: cursor-walk)")
    .argParser(namesOf(scenarioNames))
    .conflicts(["profile", "replay"]),
  replay: new Option("--replay <rides.csv>", "the rides of a trip file's busiest day, at --speed").conflicts("profile"),
  speed: new Option("--speed <n>", "so many times as fast as they were ridden")
    .argParser(integer(1, 10_000))
    .default(60),
  rate: new Option("--rate <n>", "requests a second of each scenario (default: 50)")
    .argParser(integer(1, MAX_RATE_PER_SECOND))
    .conflicts(["profile", "replay"]),
  arrivals: new Option("--arrivals <kind>", "starts are independent of one another (poisson), or evenly spaced")
    .choices(["poisson", "constant"])
    .default("poisson" as const),
  duration: new Option("--duration <time>", "1 hour at most (default: the profile's, or 30s)").argParser(
    duration(1000, MAX_DURATION_MS),
  ),
  warmUp: new Option(
    "--warm-up <time>",
    "at the beginning, left out of the percentiles (default: the profile's, or 2s)",
  ).argParser(duration(0, MAX_DURATION_MS)),
  closed: new Option("--closed", "no rate: each connection sends when it is answered; for saturation").conflicts([
    "profile",
    "replay",
  ]),
  findKnee: new Option("--find-knee", "raise --rate until a threshold breaks, and report the last good run").conflicts([
    "closed",
    "profile",
    "replay",
  ]),
};

const measuring = {
  seed: new Option("--seed <n>", "of start times and choices").argParser(integer(0, 2 ** 32 - 1)).default(1),
  workers: new Option("--workers <n>", "threads that make requests")
    .argParser(integer(1, MAX_WORKERS))
    .default(Math.max(1, Math.floor(availableParallelism() / 2)), "half the processors"),
  connections: new Option("--connections <n>", "of all threads").argParser(integer(1, MAX_CONNECTIONS)).default(256),
  threshold: new Option(
    "--threshold <a,b>",
    `fail unless they hold, such as p99<50ms,unexpected<=0. Of ${METRICS_HELP}`,
  ).argParser(listOf(parseThreshold)),
  checkEvery: new Option("--check-every <n>", "compare one answer in n of each kind with the contract")
    .argParser(integer(1, 1_000_000))
    .default(100),
};

/** Returns the command with all its options. It throws a `CommanderError` instead of ending the process. */
export function createCommand() {
  return new Command("load-test")
    .description("Loads a service at a set rate and reports how long its callers wait.")
    .addOption(load.profile)
    .addOption(load.scenario)
    .addOption(load.replay)
    .addOption(load.speed)
    .addOption(load.rate)
    .addOption(load.arrivals)
    .addOption(load.duration)
    .addOption(load.warmUp)
    .addOption(load.closed)
    .addOption(load.findKnee)
    .addOption(measuring.threshold)
    .addOption(measuring.checkEvery)
    .addOption(measuring.seed)
    .addOption(measuring.workers)
    .addOption(measuring.connections)
    .option("--baseline <file>", "the result.json of an earlier run: shows the difference")
    .option("--out <directory>", "where result.json and report.html go", "load-test-report")
    .option("--url <base address>", "a running service that is yours to load (default: one is started for the run)")
    .option("--keys <file>", "its keys, one a line: partners', and the operator's")
    .option("--metrics-url <url>", "its Prometheus page")
    .option("--yes", "the service is on another machine, and yours to load")
    .option("--json", "one JSON object on stdout, everything else on stderr")
    .addHelpText(
      "after",
      `\nScenarios:\n${described(scenarioNames, scenarios)}\n\nProfiles:\n${described(Object.keys(profiles), profiles)}`,
    )
    .exitOverride();
}

function described(
  names: readonly string[],
  kinds: Readonly<Record<string, { readonly description: string }>>,
): string {
  return names.map((name) => `  ${name.padEnd(18)}${kinds[name]?.description}`).join("\n");
}

/** The parsed options of the command line. */
export type CommandOptions = ReturnType<ReturnType<typeof createCommand>["opts"]>;
