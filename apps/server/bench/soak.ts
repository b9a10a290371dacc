import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  createLedger,
  createRequests,
  describeErrors,
  figuresOf,
  type Ledger,
  median,
  memoryMiB,
  startWorkload,
  verifyWorkload,
  walk,
  type Workload,
} from "@bikeshare/load";
import {
  createOperatorClient,
  createRandom,
  makeCity,
  type OnAnswer,
  type Simulation,
  startSimulation,
} from "@bikeshare/simulator";
import { findFreePort } from "@bikeshare/test-kit";
import { createIds } from "../src/ids.ts";
import { openStore } from "../src/storage/db/connections.ts";
import { auditLogOwner } from "../src/storage/partitions/service.ts";
import { brokenInvariants, describeMachine, inDirectory, say, serve } from "./processes.ts";
import { makeOperatorKey, makePartner, makeSystem } from "./provision.ts";
import { sampleFeeds } from "./soak/gbfs-samples.ts";

/*
 * A city lives on the service for some minutes, partners hold and cancel bikes meanwhile, and the service is killed
 * now and then. Afterwards everything that was acknowledged must be there, and everything that happened must have been
 * told exactly once. Without kills its memory must be flat. With many clients and short pauses their commands share
 * transactions: `pnpm bench soak 2 --kills 12 --clients 64 --pause-ms 20`.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: "string", default: "3" },
    clients: { type: "string", default: "20" },
    // The longest pause of a client between two requests.
    "pause-ms": { type: "string", default: "700" },
  },
});
const MINUTES = Number(positionals[0] ?? 5);
const KILLS = Number(options.kills);
const CLIENTS = Number(options.clients);
/** Pauses vary from nothing to twice this. */
const MEAN_PAUSE_MS = Math.max(1, Number(options["pause-ms"]) / 2);
const SEED = 7;
const BIKES = 2_000;
/** Of the holds: the others are cancelled. */
const EXPIRING_SHARE = 0.1;
const MEMORY_INTERVAL_MS = 5_000;
const SAMPLES_PER_MINUTE = 60_000 / MEMORY_INTERVAL_MS;

const failures = await inDirectory(async (directory) => {
  const env = { DATA_DIR: join(directory, "data"), PORT: String(await findFreePort()) };
  const keys = await prepare(env.DATA_DIR);
  let server = await serve(env);
  const restart = async () => {
    process.kill(server.pid, "SIGKILL");
    await server.stop();
    server = await serve(env);
  };
  try {
    return await soak({ base: server.url, keys, pid: () => server.pid, restart, check: () => brokenInvariants(env) });
  } finally {
    await server.stop();
  }
});
for (const failure of failures.slice(0, 20)) say(`FAILED ${failure}`);
say(failures.length === 0 ? "no failures" : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;

interface Keys {
  readonly operator: string;
  readonly partners: readonly string[];
}

interface Service {
  readonly base: string;
  readonly keys: Keys;
  readonly pid: () => number;
  /** Ends it without a warning, and starts it again on the same data. */
  readonly restart: () => Promise<void>;
  readonly check: () => Promise<string>;
}

/** Makes the system and its keys before the service runs. */
async function prepare(dataDir: string): Promise<Keys> {
  const store = await openStore({
    ...{ auditLog: auditLogOwner, databaseUrl: undefined, dataDir, statementTimeoutMs: 0 },
    onEmbeddedEvent: () => undefined,
    onConnectionLost: () => undefined,
  });
  const clock = () => Date.now();
  const context = { db: store.db, clock, ids: createIds(clock), actor: "soak" };
  try {
    await makeSystem(context);
    const partners: string[] = [];
    // As many as there are bikes: what is tested is not the limit.
    for (const name of ["One", "Two"])
      partners.push((await makePartner(context, name, { maxReservations: BIKES })).key);
    return { operator: await makeOperatorKey(context), partners };
  } finally {
    await store.close();
  }
}

async function soak({ base, keys, pid, restart, check }: Service): Promise<readonly string[]> {
  const city = makeCity(createRandom(SEED), { stations: 200, bikes: BIKES });
  const [first = "", ...others] = city.stations.map(({ id }) => id);
  const ledger = createLedger(createRequests(base), true);
  const simulation = await startSimulation({
    ...{ city, seed: SEED, speed: 60, clock: () => Date.now(), observed: undefined },
    post: createOperatorClient(base, keys.operator),
    newKey: () => createIds(() => Date.now()).next("soak"),
    onAnswer: noteRides(ledger),
  });
  say(`${describeMachine()}; the city lives; ${CLIENTS} clients; ${MINUTES} minutes; ${KILLS} kills`);
  const stations = [first, ...others] as const;
  const workload = startWorkload({
    ...{ base, ledger, seed: SEED, riders: 0, holders: CLIENTS, readers: 0 },
    system: {
      ...{ operatorKey: keys.operator, partnerKeys: keys.partners, riderBikes: [] },
      ...{ riderStations: [...stations], holderStations: [...stations] },
    },
    requestsPerSecond: (CLIENTS * 1000) / MEAN_PAUSE_MS,
    expiringShare: EXPIRING_SHARE,
    fulfilledShare: 0,
  });
  const over = new AbortController();
  const feeds = sampleFeeds(base, over.signal);
  const memory = sampleMemory(pid, over.signal);
  await killNowAndThen(restart, simulation, workload);
  over.abort();
  say(`resident memory, MiB by minute: ${(await memory).join(" ")}`);
  await workload.stop();
  await simulation.stop();
  const { valid, failures: ofFeeds } = await feeds;
  say(`${valid} feed documents were valid`);
  const found = [...ofFeeds, ...judgeSimulation(simulation)];
  const report = await verifyWorkload({ base, partnerKeys: keys.partners, ledger });
  say(`${report.rides} rides, ${report.reservations} reservations, ${report.events} events of both partners`);
  const broken = await check();
  const misplaced = await compareBikes(base, keys.partners[0] ?? "", simulation);
  return [...found, ...report.failures, ...misplaced, ...(broken === "" ? [] : [`check: ${broken}`])];
}

/** Notes what the operator's backend was promised. */
function noteRides({ rides }: Ledger): OnAnswer {
  return ({ path, item }, { outcome }) => {
    // A repeat that finds it done is `unchanged`; what was promised stands already.
    if (outcome !== "created" && outcome !== "updated") return;
    if (path === "rides/start") {
      const { id, bike_id: bikeId, started_at: startedAt = "" } = item;
      rides.set(id, { bikeId, startedAt, status: "started", endedAt: undefined });
    }
    const ride = rides.get(item.id);
    if (ride !== undefined && path === "rides/end")
      Object.assign(ride, { status: "completed", endedAt: item.ended_at });
    if (ride !== undefined && path === "rides/cancel")
      Object.assign(ride, { status: "cancelled", endedAt: item.cancelled_at });
  };
}

async function killNowAndThen(
  restart: () => Promise<void>,
  simulation: Simulation,
  { ledger }: Workload,
): Promise<void> {
  for (let kill = 0; kill <= KILLS; kill++) {
    await setTimeout((MINUTES * 60_000) / (KILLS + 1));
    const { riding, started, retries, waiting } = simulation.figures();
    say(`${riding} riding, ${started} rides, ${retries} retries, ${waiting} waiting`);
    say(`partners: ${describeErrors(figuresOf(ledger.requests.attempts))}`);
    if (kill === KILLS) return;
    const begin = performance.now();
    await restart();
    say(`killed; back after ${Math.round(performance.now() - begin)} ms`);
  }
}

/** Follows a process's resident memory until the signal. @returns the median of each minute, in MiB */
async function sampleMemory(pid: () => number, signal: AbortSignal): Promise<number[]> {
  const samples: number[] = [];
  while (!signal.aborted) {
    samples.push(await memoryMiB(pid()));
    await setTimeout(MEMORY_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
  return Array.from({ length: Math.ceil(samples.length / SAMPLES_PER_MINUTE) }, (_, minute) => {
    const ofMinute = samples.slice(minute * SAMPLES_PER_MINUTE, (minute + 1) * SAMPLES_PER_MINUTE);
    // Between a kill and the restart there is no such process.
    return Math.round(median(ofMinute.filter(Number.isFinite)));
  });
}

function judgeSimulation(simulation: Simulation): string[] {
  const figures = simulation.figures();
  say(JSON.stringify({ ...figures, reasons: Object.fromEntries(figures.reasons) }));
  return [
    ...(figures.failures === 0 ? [] : [`${figures.failures} commands of the simulator were refused`]),
    ...(figures.waiting === 0 ? [] : [`${figures.waiting} commands were never acknowledged`]),
  ];
}

/** Where the operator believes a bike to stand, there it is shown: no late or repeated report has moved it. */
async function compareBikes(base: string, key: string, simulation: Simulation): Promise<string[]> {
  const bikes = new Map((await walk(base, key, "/v1/bikes")).map((bike) => [bike["id"], bike]));
  const standing = [...simulation.standing()];
  say(`${standing.length} bikes are to stand at a station`);
  return standing.flatMap(([bikeId, station]) => {
    const bike = bikes.get(bikeId);
    const isThere = bike?.["station_id"] === station.id;
    if (isThere && ["available", "reserved"].includes(String(bike["vehicle_state"]))) return [];
    return [`bike ${bikeId} must stand at ${station.id}, but is shown as ${JSON.stringify(bike)}`];
  });
}
