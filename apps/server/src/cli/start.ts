import { readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ensureLockFile, tryExclusiveLock } from "@bikeshare/embedded-postgres";
import {
  createOperatorClient,
  type RideUnderWay,
  readCity,
  type Simulation,
  startSimulation,
} from "@bikeshare/simulator";
import type { Delivery } from "@bikeshare/webhooks";
import { Option } from "@commander-js/extra-typings";
import { systemsOf } from "../city/systems/service.ts";
import { type Config, ConfigError } from "../config.ts";
import { isLogForPeople } from "../logger.ts";
import { loopbackAddresses, NetworkList } from "../outbound/addresses/address-guard.ts";
import { shellWord } from "../printable.ts";
import { busyTimeOfDay, DEMO_SEED, demoCity, fillWithDemoCity, isEmpty } from "../runtime/demo/demo-city.ts";
import {
  createSimulatorKeys,
  demoPartner,
  inviteToDemo,
  isSampleReceiver,
  issueDemoKey,
  type SampleReceiver,
  type SignInLinks,
  type SimulatorKeys,
  startSampleReceiver,
} from "../runtime/demo/demo-partner.ts";
import { prepareDataDir } from "../runtime/startup/checks.ts";
import { openDashboardPages } from "../runtime/startup/dashboard-pages.ts";
import { integer } from "../runtime/startup/values.ts";
import { type Database, openDatabase } from "../storage/db/database.ts";
import { loadSecrets, secretsPath } from "../storage/secrets/secrets.ts";
import { loadEndpoints } from "../webhooks/endpoints/dispatch-endpoints.ts";
import { setEndpoint } from "../webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../webhooks/endpoints/secret.ts";
import type { AddressRules } from "../webhooks/rules/receiver-url.ts";
import type { CliContext, OpenCli, ParentCommand } from "./context.ts";
import { option } from "./options.ts";
import type { Output } from "./output.ts";
import { localAddress } from "./serve.ts";

/*
 * The command `start`, a demo: runs the service with a made-up city, a sample receiver of webhooks, and simulated rides.
 * Other commands ask here whether a `start` runs (`addressOfStart`).
 */

/** Registers `start`, which runs the service with a sample city, for trying it. */
export function registerStart(program: ParentCommand, cli: OpenCli): void {
  const speeds = "simulated rides run this many times as fast as real time; 0: no rides";
  program
    .command("start")
    .description("demo: fill an empty database with a sample city, serve it and simulate rides")
    .addOption(option("--speed <n>", speeds, integer(0, 1000)).default(1))
    .addOption(new Option("--rebuild-pages", "rebuild the dashboard's pages when one is edited").hideHelp())
    .action(({ speed, rebuildPages = false }) => start(cli(), speed, rebuildPages));
}

type Closers = (() => Promise<void>)[];

async function start(given: CliContext, speed: number, isDashboardEdited: boolean): Promise<void> {
  const cli = { ...given, output: withoutNotesAmongLogs(given) };
  const stopped = cli.signals.untilStopped();
  const closers: Closers = [];
  try {
    await open(cli, { speed, isDashboardEdited }, closers);
    await stopped;
  } finally {
    // Closes the opened parts also after a failure: otherwise the end of the process would interrupt them.
    for (const close of closers.toReversed()) {
      await close().catch((error: unknown) => cli.output.note(`While stopping: ${messageOf(error)}`));
    }
  }
  if (isLogForPeople(cli.config)) cli.output.note("Stopped.");
}

interface StartOptions {
  readonly speed: number;
  readonly isDashboardEdited: boolean;
}

/** Opens every part of `start`. @param closers gets a function that closes each, to be called in reverse order */
async function open(cli: CliContext, { speed, isDashboardEdited }: StartOptions, closers: Closers): Promise<void> {
  const { output } = cli;
  const lock = await lockStart(cli.config);
  closers.push(() => lock.release());
  const webhooks = await startSampleWebhooks(cli);
  closers.push(() => webhooks.close());
  const { config } = webhooks;
  let demo: Demo | undefined;
  // Loaded here, so that other commands do not load the server.
  const { serve } = await import("../runtime/serve.ts");
  const service = await serve({
    ...cli,
    config: { ...config, logLevel: isLogForPeople(config) ? "warn" : config.logLevel },
    role: "all",
    // Stops without the delay that gives load balancers time to notice.
    isForTrying: true,
    dashboard: openDashboardPages({ note: (text) => output.note(text), isEdited: isDashboardEdited }),
    prepare: async (db) => {
      demo = await prepareDemo(cli, db, speed > 0);
      if (demo !== undefined) await webhooks.connect(db, demo.systemId, demo.partnerId);
    },
  });
  closers.push(() => service.close());
  const { url = "", port = config.port } = service;
  await lock.publish(url);
  const dataDir = config.databaseUrl === undefined ? config.dataDir : undefined;
  const isDefaultDataDir = dataDir === resolve(".bikeshare");
  const shown = demo && { ...demo, signIn: await demo.signIn(url) };
  output.result({
    object: { ready: true, url, key: demo?.key ?? null, sign_in: shown?.signIn ?? null },
    text: welcome({ url, dataDir, isDefaultDataDir, speed, demo: shown }),
  });
  if (demo?.writePast !== undefined) {
    const stopping = new AbortController();
    const written = demo.writePast(stopping.signal);
    closers.push(() => {
      stopping.abort();
      return written;
    });
  }
  const access = demo !== undefined && speed > 0 ? await demo.access() : undefined;
  if (access === undefined) return;
  closers.push(() => access.remove());
  // Uses the address on which the service listens, which may differ from PUBLIC_URL.
  const here = config.publicUrl === undefined ? url : localAddress({ ...config, port });
  const city = await startCity(cli, here, access, { speed, underWay: demo?.underWay });
  if (city !== undefined) closers.push(() => city.stop());
}

/**
 * The lock that lets one `start` at a time use a data directory. The operating system releases it when the process ends,
 * even after a crash.
 */
interface StartLock {
  /** Stores the address, which a second `start` names in its error. */
  publish(url: string): Promise<void>;
  release(): Promise<void>;
}

/** Milliseconds for which another command may hold the lock to see whether a `start` runs. */
const LOOK_MS = 100;

/**
 * Locks a data directory. A second `start` would point the demo partner's webhooks at its own receiver, and the first would
 * get none, even after the second has ended. (Any number of `serve` may share a data directory.)
 * @throws ConfigError when one is running, with its address if it has one yet
 */
export async function lockStart(config: Pick<Config, "dataDir">): Promise<StartLock> {
  await prepareDataDir(config);
  const lockFile = join(config.dataDir, "start.lock");
  const addressFile = join(config.dataDir, "start.url");
  await ensureLockFile(lockFile);
  let lock = tryExclusiveLock(lockFile);
  if (lock === undefined) {
    // `addressOfStart` of another command may hold the lock for a moment.
    await sleep(LOOK_MS);
    lock = tryExclusiveLock(lockFile);
  }
  if (lock === undefined) {
    // A `start` that is still starting has no address yet.
    const url = await trimmedText(addressFile);
    throw new ConfigError(
      `DATA_DIR=${config.dataDir}: \`start\` is running there already${url === "" ? "" : `, at ${url}`}. Use that one, stop it first, or set DATA_DIR to another directory.`,
    );
  }
  const held = lock;
  await rm(addressFile, { force: true });
  return {
    publish: (url) => writeFile(addressFile, `${url}\n`),
    async release() {
      await rm(addressFile, { force: true });
      held.release();
    },
  };
}

/** Returns the address of the `start` that is running on a data directory; undefined: none is, or it has no address yet. */
export async function addressOfStart({ dataDir }: Pick<Config, "dataDir">): Promise<string | undefined> {
  const url = await trimmedText(join(dataDir, "start.url"));
  if (url === "") return undefined;
  const lock = tryExclusiveLock(join(dataDir, "start.lock"));
  // A killed `start` leaves its address behind, but not its lock.
  lock?.release();
  return lock === undefined ? url : undefined;
}

/** Returns a file's text, trimmed; empty when the file cannot be read, as when it does not exist. */
export async function trimmedText(file: string): Promise<string> {
  return (await readFile(file, "utf8").catch(() => "")).trim();
}

/** The sample receiver of `start`: verifies deliveries and prints them. */
export interface SampleWebhooks {
  /** The configuration, with receivers on this machine allowed. */
  readonly config: Config;
  /** Makes the receiver the endpoint of the demo's partner, unless the partner has set another. */
  connect(db: Database, systemId: string, partnerId: string): Promise<void>;
  close(): Promise<void>;
}

/** The first so many deliveries are printed one by one; later ones are counted. Too high: fills the terminal. */
const SHOWN = 12;
/** Milliseconds between two lines with the number of further deliveries. */
const COUNT_INTERVAL_MS = 30_000;

/** Starts the receiver. Nothing is sent to it before `connect`. */
export async function startSampleWebhooks(cli: CliContext): Promise<SampleWebhooks> {
  const printer = createPrinter(cli.output);
  const receiver = await startSampleReceiver((delivery) => printer.show(delivery));
  const config: Config = { ...cli.config, webhooks: rulesForTrying(cli.config.webhooks) };
  return {
    config,
    connect: (db, systemId, partnerId) => connect({ ...cli, config }, receiver, db, { systemId, partnerId }),
    close: async () => {
      printer.close();
      await receiver.close();
    },
  };
}

/** Returns the rules of `start`, under which developers receive webhooks on this machine. */
export function rulesForTrying({ allowNetworks, allowPorts }: AddressRules): AddressRules {
  const networks = new NetworkList([...allowNetworks.networks, ...loopbackAddresses]);
  return { allowNetworks: networks, allowPorts, allowEveryLoopbackPort: true };
}

/** Makes the receiver the partner's endpoint, and tells it the secrets by which it verifies deliveries. */
async function connect(
  { actor, clock, config, ids, output }: CliContext,
  receiver: SampleReceiver,
  db: Database,
  partner: { readonly systemId: string; readonly partnerId: string },
): Promise<void> {
  const { webhookKeys } = await loadSecrets(secretsPath(config), (bytes) => ids.randomBytes(bytes));
  const cipher = createSecretCipher(webhookKeys);
  const ofPartner = async () => {
    const all = await loadEndpoints({ db, cipher }, partner.systemId);
    return all.filter(({ partnerId }) => partnerId === partner.partnerId);
  };
  const endpoints = await ofPartner();
  // Only the address of an earlier `start` is replaced: its receiver had another port. An address that the partner has set
  // stays.
  const before = endpoints.find(({ url }) => isSampleReceiver(url));
  if (before === undefined && endpoints.length > 0) return;
  const made = await setEndpoint(
    { db, clock, ids, actor, cipher, rules: config.webhooks },
    { ...partner, endpointRef: before?.id, url: receiver.url, ...(before === undefined ? { events: EVENTS } : {}) },
  );
  const own = (await ofPartner()).find(({ id }) => id === made.endpoint.id);
  const secrets = own?.secrets.map(({ text }) => text) ?? [];
  receiver.expect(secrets, { onError: (error) => output.note(`webhook rejected: ${String(error)}`) });
}

const EVENTS = ["ride.started", "ride.completed", "station.offline", "station.online", "reservation.created"];

function createPrinter(output: Output): { show(delivery: Delivery): void; close(): void } {
  let shown = 0;
  let counted = 0;
  const timer = setInterval(() => {
    if (counted > 0) output.note(`webhooks: ${counted} more received and verified`);
    counted = 0;
  }, COUNT_INTERVAL_MS);
  timer.unref();
  return {
    show(delivery) {
      if (++shown > SHOWN) {
        counted++;
        return;
      }
      output.note(`webhook received, signature verified: ${delivery.event} ${delivery.delivery_id}`);
      if (shown === SHOWN) output.note("webhooks: further ones are counted");
    },
    close: () => clearInterval(timer),
  };
}

/**
 * Returns an output that writes remarks to stdout if the log on stderr is JSON, which they would break. With `--json` they
 * stay on stderr, because stdout is JSON too.
 */
function withoutNotesAmongLogs({ config, output }: CliContext): Output {
  if (output.json || isLogForPeople(config)) return output;
  return { ...output, note: (text) => output.result({ object: {}, text }) };
}

interface Demo {
  readonly systemId: string;
  readonly partnerId: string;
  /** The key to try the service with. */
  readonly key: string;
  /** Makes the links that sign in to the dashboard at a base address. */
  readonly signIn: (url: string) => Promise<SignInLinks>;
  /** Makes the keys with which the city is simulated. */
  readonly access: () => Promise<SimulatorKeys>;
  /** The rides of a new city that are under way. */
  readonly underWay?: readonly RideUnderWay[];
  /** Writes and sums the rest of a new city's past, which may take minutes. */
  readonly writePast?: (stopping: AbortSignal) => Promise<void>;
}

/**
 * Fills an empty database with the demo's city, partner and key, or finds those of an earlier `start`.
 * @param isSimulated whether rides will be simulated
 * @returns undefined when the database holds data that `start` did not create
 */
async function prepareDemo(cli: CliContext, db: Database, isSimulated: boolean): Promise<Demo | undefined> {
  const [first] = await systemsOf(db);
  const systemId = first?.system_id ?? (await cli.resolveSystem(db, undefined));
  const file = join(cli.config.dataDir, "demo-key");
  const context = { ...cli, db, systemId };
  const access = () => createSimulatorKeys(context);
  const demoOf = (partnerId: string, key: string): Demo => {
    const signIn = (url: string) => inviteToDemo({ ...context, partnerId }, url);
    return { systemId, partnerId, key, access, signIn };
  };
  if (await isEmpty(db, systemId)) {
    cli.output.note(
      "The database is empty: creating a city with 200 stations, 2,000 bikes and the rides of four weeks (the older ones within minutes) …",
    );
    const { past, underWay } = await withoutTimeLimits(db, (patient) =>
      fillWithDemoCity({ ...context, db: patient }, systemId, isSimulated),
    );
    const { key, partnerId } = await issueDemoKey(context);
    // Stored so that the next start can show it again: a demo's key protects nothing.
    await writeFile(file, `${key}\n`, { mode: 0o600 });
    const writePast = (stopping: AbortSignal) =>
      withoutTimeLimits(db, (patient) => past.write(patient, stopping)).catch((error: unknown) =>
        cli.output.note(`The city's past is shorter than four weeks: ${messageOf(error)}`),
      );
    return { ...demoOf(partnerId, key), underWay, writePast };
  }
  const kept = await trimmedText(file);
  const partnerId = await demoPartner(context, kept);
  return partnerId === undefined ? undefined : demoOf(partnerId, kept);
}

/**
 * Runs work on connections without time limits for statements and idle transactions: on a busy machine this process
 * computes for seconds between two statements, and no other process waits for its locks.
 */
async function withoutTimeLimits<Result>(db: Database, work: (patient: Database) => Promise<Result>): Promise<Result> {
  const patient = openDatabase({ connectionString: db.connectionString, statementTimeoutMs: 0, maxConnections: 2 });
  try {
    return await work(patient);
  } finally {
    await patient.close();
  }
}

/** Simulates rides. On an error `start` prints it and continues without them. */
async function startCity(
  cli: CliContext,
  url: string,
  access: SimulatorKeys,
  { speed, underWay }: { readonly speed: number; readonly underWay: readonly RideUnderWay[] | undefined },
): Promise<Simulation | undefined> {
  try {
    return await startSimulation({
      city: demoCity(),
      seed: DEMO_SEED,
      speed,
      timeOfDayMs: speed === 1 ? busyTimeOfDay(cli.clock()) : undefined,
      clock: cli.clock,
      post: createOperatorClient(url, access.operatorKey),
      newKey: () => cli.ids.next("sim"),
      observed: await readCity(url, access.partnerKey),
      underWay,
    });
  } catch (error) {
    cli.output.note(`No rides are simulated: ${messageOf(error)}`);
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The facts that `start` prints. */
export interface Started {
  /** The service's base address. */
  readonly url: string;
  /** The data's directory; undefined: the data is in the database of DATABASE_URL. */
  readonly dataDir: string | undefined;
  /** Whether every command uses that directory by default. */
  readonly isDefaultDataDir: boolean;
  /** The simulated time per real time; 0: no rides. */
  readonly speed: number;
  /** Undefined when the data is not the demo's. */
  readonly demo:
    | {
        readonly key: string;
        readonly partnerId: string;
        /** Links that sign in to the dashboard, once. */
        readonly signIn: { readonly operator: string; readonly partner: string };
      }
    | undefined;
}

/** The command line's name, in the repository and in the published package. */
const COMMAND = import.meta.filename.endsWith(".ts") ? "npx -y pnpm@12 bikeshare" : "npx @bikeshare/server";

/** Returns the text of a `start` that is ready: addresses, and commands for another terminal. */
export function welcome(started: Started): string {
  const { url, dataDir, demo } = started;
  const facts = [
    `Ready:      ${url}`,
    `Documents:  ${url}/docs`,
    `GBFS:       ${url}/gbfs/2.3/gbfs.json (needs no key)`,
    `Data:       ${dataDir ?? "in the database of DATABASE_URL"}`,
  ];
  const rest = demo === undefined ? withoutDemo(started) : withDemo(started, demo);
  return ["", ...facts, "", ...rest, "", "Ctrl-C stops it; the data stays.", ""].join("\n");
}

function withDemo(started: Started, demo: NonNullable<Started["demo"]>): string[] {
  const { url, speed } = started;
  const bikeshare = commandOf(started);
  const curl = (path: string) => `  curl -H "Authorization: Bearer $KEY" "${url}${path}"`;
  return [
    speed > 0
      ? `Rides of a made-up city are simulated${speed === 1 ? "" : `, ${speed} times as fast as real time`}.`
      : "A made-up city without simulated rides.",
    "The dashboard, in a browser (each link signs in once; the next start prints new ones):",
    "",
    `  As a partner:      ${demo.signIn.partner}`,
    `  As its operator:   ${demo.signIn.operator}`,
    "",
    "As a partner, in another terminal:",
    "",
    `  KEY=${demo.key}`,
    curl("/v1/stations?limit=3"),
    curl("/v1/rides?limit=3"),
    curl("/v1/events?limit=3"),
    curl("/v1/me"),
    `  curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\`,
    `    -H "Idempotency-Key: first-try" -d '{"station_id":"station-001"}' "${url}/v1/reservations"`,
    "",
    "To receive webhooks in a program on this machine, enter its URL in the dashboard as a partner, on the page Webhook.",
    "Any port is allowed.",
    "",
    "As its operator, in another terminal, in this folder:",
    "",
    `  ${bikeshare} webhooks test --partner ${demo.partnerId}`,
    `  ${bikeshare} webhooks set --partner ${demo.partnerId} --url http://localhost:4000/webhooks`,
    `  ${bikeshare} keys issue --operator`,
    "",
    "With data of your own (docs/commands.md):",
    "",
    `  DATA_DIR=.bikeshare-own ${COMMAND} import gbfs <URL of a gbfs.json>`,
    `  DATA_DIR=.bikeshare-own ${COMMAND} serve`,
  ];
}

function withoutDemo(started: Started): string[] {
  const bikeshare = commandOf(started);
  return [
    "The database holds data that `start` did not create, so there is no key to show. Create one, in this folder:",
    "",
    `  ${bikeshare} partners create "Journey Planner"`,
    `  ${bikeshare} keys issue --partner <id> --scopes stations:read,rides:read`,
  ];
}

/**
 * Returns the command line with the environment that another terminal lacks; without that environment, the command would
 * create a second database.
 */
function commandOf({ dataDir, isDefaultDataDir }: Started): string {
  if (dataDir === undefined) return `DATABASE_URL=… ${COMMAND}`;
  return isDefaultDataDir ? COMMAND : `DATA_DIR=${shellWord(dataDir)} ${COMMAND}`;
}
