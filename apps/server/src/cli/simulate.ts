import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import {
  createOperatorClient,
  createRandom,
  type Figures,
  makeCity,
  type ObservedCity,
  progressLine,
  readCity,
  type Simulation,
  startSimulation,
} from "@bikeshare/simulator";
import { type Command, Option } from "commander";
import { DEMO_SEED, describeDemoVehicleTypes } from "../demo/demo-city.ts";
import { createSimulatorKeys } from "../demo/simulator-keys.ts";
import { integer } from "../startup/values.ts";
import { type CliContext, withSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";

interface SimulateOptions {
  readonly stations: number;
  readonly bikes: number;
  readonly speed: number;
  readonly seed: number;
  readonly url?: string;
  readonly key?: string;
  readonly keyFile?: string;
}

/** Milliseconds between two progress lines. */
const PROGRESS_INTERVAL_MS = 1000;

/** `simulate`: a city that rides, against a running service. */
export function registerSimulate(program: Command, context: () => CliContext): void {
  program
    .command("simulate")
    .description("let a made-up city ride, through the operator's interface of a running service")
    .addOption(option("--stations <n>", "stations of the city", integer(1, 10_000), "200"))
    .addOption(option("--bikes <n>", "bikes of the city", integer(1, 100_000), "2000"))
    .addOption(option("--speed <n>", "how much faster than real time: 60 is an hour a minute", integer(1, 1000), "60"))
    .addOption(
      option(
        "--seed <n>",
        "which city and which day: the same number plans the same",
        integer(0, 2 ** 32 - 1),
        String(DEMO_SEED),
      ),
    )
    .option("--url <base>", "base URL of the service; the one of this configuration, when not given")
    .option("--key-file <file>", "holds the operator key for --url; without it the key is in OPERATOR_KEY")
    .addOption(new Option("--key <operator key>").hideHelp())
    .action((options: SimulateOptions) => simulate(context(), options));
}

async function simulate(cli: CliContext, options: SimulateOptions): Promise<void> {
  const { url, stations, bikes, speed, seed } = options;
  const key = await readOperatorKey(cli, options);
  const city = makeCity(createRandom(seed), { stations, bikes });
  const run = (baseUrl: string, operatorKey: string, observed: ObservedCity | undefined) =>
    startSimulation({
      city,
      seed,
      speed,
      clock: cli.clock,
      post: createOperatorClient(baseUrl, operatorKey),
      newKey: () => cli.ids.next("sim"),
      observed,
    });
  if (url !== undefined && key !== undefined) {
    const baseUrl = url.replace(/\/+$/, "");
    await watch(cli, await run(baseUrl, key, undefined));
    return;
  }
  await withSystem(cli, async (context, systemId) => {
    const baseUrl = localAddress(cli.config);
    const access = await createSimulatorKeys({ ...context, systemId, keyKind: cli.config.mode });
    try {
      const seen = await readCity(baseUrl, access.partnerKey).catch((error: unknown) => {
        throw new Error(`There is no service at ${baseUrl}: start it with \`bikeshare serve\`.`, { cause: error });
      });
      mustBeOurs(systemId, seen, city.stations[0].id);
      await describeDemoVehicleTypes(context, systemId);
      await watch(cli, await run(baseUrl, access.operatorKey, seen));
    } finally {
      await access.remove();
    }
  });
}

/** @returns the key for a service elsewhere; undefined where one is made for the run */
async function readOperatorKey({ config }: CliContext, options: SimulateOptions): Promise<string | undefined> {
  const { url, keyFile } = options;
  if (options.key !== undefined) {
    throw new UsageError(
      "--key: whoever is on this machine can read a command line. Give the key in a file (--key-file), or in OPERATOR_KEY.",
    );
  }
  if (url === undefined) {
    if (keyFile !== undefined)
      throw new UsageError("--key-file belongs to --url: without it, a key is made for the run.");
    return undefined;
  }
  if (keyFile === undefined) {
    if (config.operatorKey !== undefined) return config.operatorKey;
    throw new UsageError("--url needs an operator key, in a file (--key-file) or in OPERATOR_KEY.");
  }
  const text = await readFile(keyFile, "utf8").catch((error: unknown) => {
    throw new UsageError(`--key-file: ${error instanceof Error ? error.message : String(error)}`);
  });
  return text.trim();
}

function mustBeOurs(systemId: string, { stations }: ObservedCity, stationId: string): void {
  if (stations.size === 0 || stations.has(stationId)) return;
  throw new Error(
    `System ${systemId} holds other data, among which made-up rides do not belong. Make another system for them: \`systems create sandbox\`, then \`--system sandbox\`.`,
  );
}

/** Shows how it goes until it is stopped or fails. */
async function watch(cli: CliContext, simulation: Simulation): Promise<void> {
  const over = new AbortController();
  cli.output.note("The city is running. Ctrl-C ends its rides and stops it.");
  const showing = show(cli, simulation, over.signal);
  const failure = await Promise.race([simulation.failed, cli.signals.untilStopped()]);
  over.abort();
  await showing;
  await simulation.stop();
  const figures = simulation.figures();
  cli.output.result({ ...figures, reasons: Object.fromEntries(figures.reasons) }, summary(figures));
  if (failure instanceof Error) throw failure;
}

async function show(cli: CliContext, simulation: Simulation, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    cli.output.progress(progressLine(simulation.figures()));
    await setTimeout(PROGRESS_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

function summary(figures: Figures): string {
  const reasons = [...figures.reasons].map(([reason, n]) => `  ${n} × ${reason}`);
  const unsent = figures.waiting === 0 ? [] : [`${figures.waiting} messages were not acknowledged.`];
  return [progressLine(figures), ...reasons, ...unsent].join("\n");
}
