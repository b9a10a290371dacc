import { readFile } from "node:fs/promises";
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
import { Option } from "@commander-js/extra-typings";
import { DEMO_SEED, describeDemoVehicleTypes } from "../runtime/demo/demo-city.ts";
import { createSimulatorKeys } from "../runtime/demo/keys.ts";
import { integer } from "../runtime/startup/values.ts";
import { type CliContext, type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";

/** Between two progress lines: the figures are of the last minute. */
const PROGRESS_INTERVAL_MS = 1000;

/** `simulate`: a city that rides, against a running service. */
export function registerSimulate(program: ParentCommand, cli: OpenCli): void {
  const seeds = integer(0, 2 ** 32 - 1);
  program
    .command("simulate")
    .description("let a made-up city ride, through the operator's interface of a running service")
    .addOption(option("--stations <n>", "stations of the city", integer(1, 10_000)).default(200))
    .addOption(option("--bikes <n>", "bikes of the city", integer(1, 100_000)).default(2000))
    .addOption(
      option("--speed <n>", "how much faster than real time: 60 is an hour a minute", integer(1, 1000)).default(60),
    )
    .addOption(
      option("--seed <n>", "which city and which day: the same number plans the same", seeds).default(DEMO_SEED),
    )
    .option("--url <base>", "base URL of the service; the one of this configuration, when not given")
    .option("--key-file <file>", "holds the operator key for --url; without it the key is in OPERATOR_KEY")
    .addOption(new Option("--key <operator key>").hideHelp())
    .action((options) => simulate(cli(), options));
}

interface SimulateOptions extends AccessOptions {
  readonly stations: number;
  readonly bikes: number;
  readonly speed: number;
  readonly seed: number;
}

async function simulate(cli: CliContext, options: SimulateOptions): Promise<void> {
  const { url, stations, bikes, speed, seed } = options;
  const key = await readOperatorKey(cli, options);
  const city = makeCity(createRandom(seed), { stations, bikes });
  const { clock, ids } = cli;
  const newKey = () => ids.next("sim");
  const run = async (baseUrl: string, operatorKey: string, observed: ObservedCity | undefined) => {
    const post = createOperatorClient(baseUrl, operatorKey);
    await watch(cli, await startSimulation({ city, seed, speed, clock, post, newKey, observed }));
  };
  if (url !== undefined && key !== undefined) return run(url.replace(/\/+$/, ""), key, undefined);
  return withSystem(cli, async (context, systemId) => {
    const baseUrl = localAddress(cli.config);
    const access = await createSimulatorKeys({ ...context, keyKind: cli.config.mode });
    try {
      const seen = await readCity(baseUrl, access.partnerKey).catch((error: unknown) => {
        throw new Error(`There is no service at ${baseUrl}: start it with \`bikeshare serve\`.`, { cause: error });
      });
      mustBeOurs(systemId, seen, city.stations[0].id);
      await describeDemoVehicleTypes(context, systemId);
      await run(baseUrl, access.operatorKey, seen);
    } finally {
      await access.remove();
    }
  });
}

interface AccessOptions {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** @returns the key for a service elsewhere; undefined where one is made for the run */
async function readOperatorKey({ config }: CliContext, options: AccessOptions): Promise<string | undefined> {
  const { url, keyFile } = options;
  if (options.key !== undefined) {
    throw new UsageError(
      "--key: whoever is on this machine can read a command line. Give the key in a file (--key-file), or in OPERATOR_KEY.",
    );
  }
  if (url === undefined) {
    if (keyFile === undefined) return undefined;
    throw new UsageError("--key-file belongs to --url: without it, a key is made for the run.");
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
async function watch({ output, signals }: CliContext, simulation: Simulation): Promise<void> {
  output.note("The city is running. Ctrl-C ends its rides and stops it.");
  const show = () => output.progress(progressLine(simulation.figures()));
  show();
  const showing = setInterval(show, PROGRESS_INTERVAL_MS);
  const failure = await Promise.race([simulation.failed, signals.untilStopped()]);
  clearInterval(showing);
  await simulation.stop();
  const figures = simulation.figures();
  output.result({ ...figures, reasons: Object.fromEntries(figures.reasons) }, summary(figures));
  if (failure instanceof Error) throw failure;
}

function summary(figures: Figures): string {
  const reasons = [...figures.reasons].map(([reason, n]) => `  ${n} × ${reason}`);
  const unsent = figures.waiting === 0 ? [] : [`${figures.waiting} messages were not acknowledged.`];
  return [progressLine(figures), ...reasons, ...unsent].join("\n");
}
