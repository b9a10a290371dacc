import { availableParallelism } from "node:os";
import { Command, Option } from "@commander-js/extra-typings";
import { collect, duration, integer, names } from "./options.ts";
import { profiles } from "./profiles.ts";
import { scenarios } from "./scenarios/all.ts";
import { METRICS_HELP, parseThreshold, type Threshold } from "./thresholds.ts";

/** Bounds of a run, so that a slip of the hand does not become an attack. */
const MAX_RATE_PER_SECOND = 20_000;
const MAX_DURATION_MS = 3_600_000;
const MAX_CONNECTIONS = 5_000;

/** The command line, with every option. */
export function createCommand() {
  const namesWith = (kinds: Readonly<Record<string, { readonly description: string }>>) =>
    Object.entries(kinds).map(([name, { description }]) => `  ${name.padEnd(18)}${description}`);
  return new Command("load-test")
    .description(
      "Loads a service at a set rate and reports how long its callers wait. Without --url it starts a service of its own.",
    )
    .addOption(new Option("--profile <name>", "a load for a service of its own").choices(Object.keys(profiles)))
    .addOption(
      new Option("--scenario <a,b>", "what to ask for; each at --rate")
        .argParser(names(Object.keys(scenarios)))
        .conflicts("profile"),
    )
    .addOption(
      new Option("--rate <n>", "requests a second of each scenario (default: 50)").argParser(
        integer(1, MAX_RATE_PER_SECOND),
      ),
    )
    .addOption(
      new Option("--arrivals <kind>", "how starts are spread: independently (poisson) or evenly")
        .choices(["poisson", "constant"])
        .default("poisson" as const),
    )
    .addOption(
      new Option("--duration <time>", "default: the profile's, or 30s").argParser(duration(1000, MAX_DURATION_MS)),
    )
    .addOption(
      new Option("--warm-up <time>", "what is left out of the figures at the beginning")
        .argParser(duration(0, MAX_DURATION_MS))
        .default(2000, "2s"),
    )
    .addOption(new Option("--seed <n>", "of start times and choices").argParser(integer(0, 2 ** 32 - 1)).default(1))
    .addOption(
      new Option("--workers <n>", "threads that make requests")
        .argParser(integer(1, 64))
        .default(Math.max(1, availableParallelism() >> 1), "half the processors"),
    )
    .addOption(new Option("--connections <n>", "of all workers").argParser(integer(1, MAX_CONNECTIONS)).default(256))
    .option("--closed", "no rate: each connection sends when it is answered. Hides waits; for saturation only")
    .addOption(
      new Option(
        "--find-knee",
        "raise the rate from --rate until --threshold breaks, and report the last good one",
      ).conflicts(["closed", "profile"]),
    )
    .addOption(
      new Option("--threshold <bound>", `fail unless it holds; again for more. Of ${METRICS_HELP}`)
        .argParser(collect(parseThreshold))
        .default([] as Threshold[], "the profile's"),
    )
    .addOption(
      new Option("--check-every <n>", "compare one answer in n with the contract")
        .argParser(integer(1, 1e6))
        .default(100),
    )
    .option("--baseline <file>", "a result.json of before: shows the difference")
    .option("--out <directory>", "where result.json and report.html go", "load-test-report")
    .option("--url <base address>", "a running service that is yours to load")
    .option("--keys <file>", "its keys, one a line: partners', and the operator's")
    .option("--metrics-url <url>", "its Prometheus page")
    .option("--yes", "the service is on another machine, and yours to load")
    .option("--json", "one JSON object on stdout, everything else on stderr")
    .addHelpText(
      "after",
      ["", "Scenarios:", ...namesWith(scenarios), "", "Profiles:", ...namesWith(profiles)].join("\n"),
    )
    .exitOverride();
}

/** What the command line says. */
export type CommandOptions = ReturnType<ReturnType<typeof createCommand>["opts"]>;
