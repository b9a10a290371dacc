import { randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import { Command, CommanderError, Option } from "commander";
import type { RunOutcome } from "./load/collector.ts";
import { discoverWorld } from "./load/discover.ts";
import type { Plan } from "./load/plan.ts";
import type { RunResult } from "./load/result.ts";
import { runPlan } from "./load/run.ts";
import { duration, integer, names } from "./options.ts";
import { scenarios } from "./scenarios/all.ts";
import { fillCity, issueOperatorKey, issuePartnerKey, UNLIMITED_RATE } from "./server/fill.ts";
import { startOwnServer } from "./server/own-server.ts";
import { invalidReasons } from "./verdict.ts";

const FAILED = 1;
const WRONG_USAGE = 2;

interface Options {
  readonly scenario: readonly string[];
  readonly rate: number;
  readonly duration: number;
  readonly seed: number;
  readonly workers: number;
  readonly connections: number;
  readonly closed?: boolean;
  readonly json?: boolean;
}

/** Runs the command line. @returns the exit status: 0 passed, 1 failed, 2 wrong usage */
export async function runProgram(
  args: readonly string[],
  { stdout, stderr }: { stdout: NodeJS.WritableStream; stderr: NodeJS.WritableStream },
): Promise<number> {
  const program = new Command("load-test")
    .exitOverride()
    .addOption(new Option("--scenario <names>").argParser(names(Object.keys(scenarios))).default(["cursor-walk"]))
    .addOption(new Option("--rate <n>").argParser(integer(1, 100_000)).default(50))
    .addOption(new Option("--duration <time>").argParser(duration(1000, 3_600_000)).default(10_000))
    .addOption(new Option("--seed <n>").argParser(integer(0, 2 ** 32 - 1)).default(1))
    .addOption(new Option("--workers <n>").argParser(integer(1, 64)).default(Math.max(1, availableParallelism() >> 1)))
    .addOption(new Option("--connections <n>").argParser(integer(1, 10_000)).default(256))
    .option("--closed")
    .option("--json");
  try {
    program.parse(args, { from: "user" });
    const options = program.opts<Options>();
    const result = await run(options);
    stdout.write(`${JSON.stringify(result)}\n`);
    return result.invalidReasons.length === 0 && result.violations.length === 0 ? 0 : FAILED;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return FAILED;
  }
}

async function run(options: Options): Promise<RunResult> {
  const server = await startOwnServer();
  try {
    const operatorKey = await issueOperatorKey(server);
    const key = await issuePartnerKey(server, "Load test", UNLIMITED_RATE);
    const limited = options.scenario.includes("limit-storm") ? [await issuePartnerKey(server, "Storm", 60)] : [];
    await fillCity(server.url, operatorKey, { stations: 200, bikes: 2000, rides: 20_000 }, options.seed);
    const world = await discoverWorld(server.url, key, true);
    const bikeStreams = options.scenario.filter((name) => scenarios[name]?.needsBikes === true);
    const plan: Plan = {
      url: server.url,
      operatorKey,
      world,
      durationMs: options.duration,
      warmUpMs: 1000,
      workers: options.workers,
      connections: options.connections,
      mode: options.closed === true ? "closed" : "open",
      seed: options.seed,
      runId: randomUUID().slice(0, 8),
      checkEvery: 100,
      streams: options.scenario.map((scenario) => ({
        name: scenario,
        scenario,
        ratePerSecond: options.rate,
        arrivals: "poisson",
        keys: scenarios[scenario]?.needsLimitedKeys === true ? limited : [key],
        bikes: world.bikes.filter((_, index) => index % bikeStreams.length === bikeStreams.indexOf(scenario)),
      })),
    };
    return resultOf(plan, await runPlan({ plan }));
  } finally {
    await server.stop();
  }
}

function resultOf(plan: Plan, outcome: RunOutcome): RunResult {
  const { startedAtMs, latency, streams, totals, seconds, contract, violations } = outcome;
  const { url, mode, seed, workers, connections } = plan;
  const [durationSeconds, warmUpSeconds] = [plan.durationMs / 1000, plan.warmUpMs / 1000];
  return {
    version: 1,
    startedAt: new Date(startedAtMs).toISOString(),
    settings: { url, mode, durationSeconds, warmUpSeconds, seed, workers, connections },
    invalidReasons: invalidReasons(outcome),
    latency,
    streams,
    totals,
    seconds,
    contract,
    violations,
  };
}
