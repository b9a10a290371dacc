import { readFile } from "node:fs/promises";
import {
  createOperatorClient,
  createRandom,
  makeCity,
  type ObservedCity,
  progressLine,
  readCity,
  type Simulation,
  startSimulation,
} from "@bikeshare/simulator";
import { Option } from "@commander-js/extra-typings";
import { describeDemoTypes } from "../city/descriptions/made-up-city.ts";
import { DEMO_SEED } from "../runtime/demo/demo-city.ts";
import { createSimulatorKeys } from "../runtime/demo/demo-partner.ts";
import { integer } from "../runtime/startup/values.ts";
import { type CliContext, type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, UsageError } from "./options.ts";
import { localAddress } from "./serve.ts";

/** Milliseconds between two progress lines. The rate of starts that they show is that of the last minute. */
const PROGRESS_INTERVAL_MS = 1000;

/** Registers `simulate`, which simulates rides against a running service. */
export function registerSimulate(program: ParentCommand, cli: OpenCli): void {
  const seeds = integer(0, 2 ** 32 - 1);
  program
    .command("simulate")
    .description("simulate a city's rides through the operator interface of a running service")
    .addOption(option("--stations <n>", "number of stations", integer(1, 10_000)).default(200))
    .addOption(option("--bikes <n>", "number of bikes", integer(1, 100_000)).default(2000))
    .addOption(
      option("--speed <n>", "how many times as fast as real time; 60: an hour in a minute", integer(1, 1000)).default(
        60,
      ),
    )
    .addOption(option("--seed <n>", "random seed; the same seed plans the same city and day", seeds).default(DEMO_SEED))
    .option("--url <base>", "base URL of the service (default: the service of this configuration)")
    .option("--key-file <file>", "file with the operator key for --url (default: the variable OPERATOR_KEY)")
    // Known only to be refused with an explanation.
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
  // Listen before the first ride: a process that is stopped while it starts must end its rides too.
  const stopped = cli.signals.untilStopped();
  const key = await readOperatorKey(cli, options);
  const city = makeCity(createRandom(seed), { stations, bikes });
  const { clock, ids } = cli;
  const newKey = () => ids.next("sim");
  const run = async (baseUrl: string, operatorKey: string, observed: ObservedCity | undefined) => {
    const post = createOperatorClient(baseUrl, operatorKey);
    await watch(cli, stopped, await startSimulation({ city, seed, speed, clock, post, newKey, observed }));
  };
  if (url !== undefined && key !== undefined) return run(url.replace(/\/+$/, ""), key, undefined);
  return runOnSystem(cli, async (context) => {
    const { systemId } = context;
    const baseUrl = localAddress(cli.config);
    const access = await createSimulatorKeys(context);
    try {
      const seen = await readCity(baseUrl, access.partnerKey).catch((error: unknown) => {
        throw new Error(`No service answers at ${baseUrl}: start it with \`bikeshare serve\`.`, { cause: error });
      });
      mustBeOurs(systemId, seen, city.stations[0].id);
      await describeDemoTypes(context, systemId);
      await run(baseUrl, access.operatorKey, seen);
      return undefined;
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

/** @returns the key for a service elsewhere; undefined when the run creates a key */
async function readOperatorKey({ config }: CliContext, options: AccessOptions): Promise<string | undefined> {
  const { url, keyFile } = options;
  if (options.key !== undefined) {
    throw new UsageError(
      "--key: everybody on this machine can read a command line. Give the key in a file (--key-file) or in OPERATOR_KEY.",
    );
  }
  if (url === undefined) {
    if (keyFile === undefined) return undefined;
    throw new UsageError(
      `--key-file is ${keyFile}, but --url is missing: give both, or neither and the run gets a key of its own.`,
    );
  }
  if (keyFile === undefined) {
    if (config.operatorKey !== undefined) return config.operatorKey;
    throw new UsageError(
      `--url is ${url}, but its operator key is missing: give it in a file (--key-file) or in OPERATOR_KEY.`,
    );
  }
  const text = await readFile(keyFile, "utf8").catch((error: unknown) => {
    throw new UsageError(`--key-file cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  });
  return text.trim();
}

/** @throws Error when the system has stations of another city than the simulated one */
function mustBeOurs(systemId: string, { stations }: ObservedCity, stationId: string): void {
  if (stations.size === 0 || stations.has(stationId)) return;
  throw new Error(
    `System ${systemId} holds other data, which simulated rides would mix with. Create a system for them: \`systems create sandbox\`, then \`--system sandbox\`.`,
  );
}

/** Draws the figures until the simulation is stopped or fails, then prints them. */
async function watch({ output }: CliContext, stopped: Promise<void>, simulation: Simulation): Promise<void> {
  output.note("Rides are simulated. Ctrl-C ends them and stops.");
  const show = () => output.progress(progressLine(simulation.figures()));
  show();
  const showing = setInterval(show, PROGRESS_INTERVAL_MS);
  const failure = await Promise.race([simulation.failed, stopped]);
  clearInterval(showing);
  await simulation.stop();
  const figures = simulation.figures();
  const reasons = Object.fromEntries(figures.reasons);
  const { riding, started, completed, cancelled, requests, retries, failures, waiting } = figures;
  output.result({
    object: { ...figures, reasons },
    facts: { started, completed, cancelled, riding, requests, retries, failures, "not acknowledged": waiting, reasons },
  });
  if (failure instanceof Error) throw failure;
}
