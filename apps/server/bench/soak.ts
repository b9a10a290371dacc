import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { scopeNames } from "@bikeshare/contract";
import { createOperatorClient, createRandom, makeCity, type Simulation, startSimulation } from "@bikeshare/simulator";
import { createSystem } from "../src/city/systems/service.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { openStore } from "../src/storage/db/open.ts";
import { auditLogOwner } from "../src/storage/partitions/audit-owner.ts";
import { type ClientLedger, createClientLedger, runClient } from "./soak/clients.ts";
import { checkLifeEvents, checkStationEdges, checkWalk, countByName } from "./soak/events-check.ts";
import { createFindings, type Findings } from "./soak/findings.ts";
import { sampleFeeds } from "./soak/gbfs-samples.ts";
import { sampleMemory } from "./soak/memory.ts";
import { compareRides, createRideLedger, type RideLedger } from "./soak/ride-ledger.ts";
import { type KillableServer, MAIN, startKillableServer } from "./soak/server.ts";
import { countEvents, walk, walkEvents } from "./soak/walk.ts";

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
const MAX_PAUSE_MS = Number(options["pause-ms"]);
const SEED = 7;
const BIKES = 2_000;
const SCHEMAS =
  process.env["BIKESHARE_GBFS_SCHEMAS"] ?? join(import.meta.dirname, "../../../../shared/data/gbfs-json-schema");
/** Milliseconds of the longest hold of a client, and what the sweeper needs beyond it. */
const HOLDS_EXPIRE_MS = 120_000 + 15_000;

const directory = await mkdtemp(join(tmpdir(), "bikeshare-soak-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const env = { DATA_DIR: join(directory, "data") };
const findings = createFindings();
const say = (text: string) => process.stdout.write(`${text}\n`);
try {
  const keys = await prepare();
  const server = await startKillableServer(env);
  try {
    await soak(server, keys);
  } finally {
    await server.stop();
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
for (const failure of findings.failures.slice(0, 20)) say(`FAILED ${failure}`);
say(findings.failures.length === 0 ? "no failures" : `${findings.failures.length} failures`);
process.exitCode = findings.failures.length === 0 ? 0 : 1;

interface Keys {
  readonly operator: string;
  readonly partners: readonly string[];
}

/** Makes the system and its keys before the service runs. */
async function prepare(): Promise<Keys> {
  const clock = () => Date.now();
  const store = await openStore({
    auditLog: auditLogOwner,
    databaseUrl: undefined,
    dataDir: env.DATA_DIR,
    statementTimeoutMs: 0,
    onEmbeddedEvent: () => undefined,
    onConnectionLost: () => undefined,
  });
  try {
    const context = { db: store.db, clock, ids: createIds(clock), actor: "soak" };
    await createSystem(store.db, "main", "Soak", clock());
    const issue = async (kind: "operator" | "live", partnerId: string | null) =>
      (
        await issueKey(context, {
          systemId: "main",
          kind,
          partnerId,
          scopes: partnerId === null ? [] : scopeNames,
          rateLimit: 1_000_000,
        })
      ).key;
    const partners: string[] = [];
    // As many as there are bikes: what is tested is not the limit.
    for (const name of ["One", "Two"]) {
      const partner = await createPartner(context, "main", name, { maxReservations: BIKES });
      partners.push(await issue("live", partner.id));
    }
    return { operator: await issue("operator", null), partners };
  } finally {
    await store.close();
  }
}

async function soak(server: KillableServer, keys: Keys): Promise<void> {
  const city = makeCity(createRandom(SEED), { stations: 200, bikes: BIKES });
  const rides = createRideLedger();
  const simulation = await startSimulation({
    city,
    seed: SEED,
    speed: 60,
    clock: () => Date.now(),
    post: createOperatorClient(server.base, keys.operator),
    newKey: () => createIds(() => Date.now()).next("soak"),
    observed: undefined,
    onAnswer: rides.onAnswer,
  });
  say(`${cpus().length} cores; the city lives; ${CLIENTS} clients; ${MINUTES} minutes; ${KILLS} kills`);
  const over = new AbortController();
  const ledgers = keys.partners.map(() => createClientLedger());
  const [first, ...others] = city.stations.map(({ id }) => id);
  const clients = Array.from({ length: CLIENTS }, (_, n) => {
    const of = n % keys.partners.length;
    return runClient({
      base: server.base,
      key: keys.partners[of] ?? "",
      name: `client-${n}`,
      seed: SEED + n,
      maxPauseMs: MAX_PAUSE_MS,
      stationIds: [first ?? "", ...others],
      ledger: ledgers[of] ?? createClientLedger(),
      signal: over.signal,
    });
  });
  const feeds = sampleFeeds(server.base, SCHEMAS, findings, over.signal);
  const memory = sampleMemory(() => server.pid(), over.signal);
  await killNowAndThen(server, simulation);
  over.abort();
  say(`resident memory, MiB by minute: ${(await memory).join(" ")}`);
  await Promise.all(clients);
  await simulation.stop();
  say(`${await feeds} feed documents were valid`);
  await judge(server.base, keys, rides, ledgers, simulation);
}

async function killNowAndThen(server: KillableServer, simulation: Simulation): Promise<void> {
  const pause = (MINUTES * 60_000) / (KILLS + 1);
  for (let kill = 0; kill <= KILLS; kill++) {
    await setTimeout(pause);
    const { riding, started, retries, waiting, failures } = simulation.figures();
    say(`${riding} riding, ${started} rides, ${failures} failures, ${retries} retries, ${waiting} waiting`);
    if (kill === KILLS) return;
    const begin = performance.now();
    await server.killAndRestart();
    say(`killed; back after ${Math.round(performance.now() - begin)} ms`);
  }
}

async function judge(
  base: string,
  keys: Keys,
  rides: RideLedger,
  ledgers: readonly ClientLedger[],
  simulation: Simulation,
): Promise<void> {
  const figures = simulation.figures();
  say(JSON.stringify({ ...figures, reasons: Object.fromEntries(figures.reasons) }));
  findings.expect(figures.failures === 0, () => `${figures.failures} commands of the simulator were refused`);
  findings.expect(figures.waiting === 0, () => `${figures.waiting} commands were never acknowledged`);
  const [one = ""] = keys.partners;
  await untilQuiet(base, one);
  const shownRides = await walk(base, one, "/v1/rides");
  compareRides(rides, shownRides, findings);
  await compareBikes(base, one, simulation, findings);
  for (const [index, key] of keys.partners.entries()) {
    const ledger = ledgers[index] ?? createClientLedger();
    const events = await walkEvents(base, key);
    const reservations = await walk(base, key, "/v1/reservations");
    say(`partner ${index + 1}: ${JSON.stringify(ledger.counts)}, events ${JSON.stringify(countByName(events))}`);
    for (const failure of ledger.failures) findings.expect(false, () => failure);
    compareReservations(ledger, reservations);
    checkWalk(events, await countEvents(base, key), findings);
    checkLifeEvents("ride", events, shownRides, findings);
    checkLifeEvents("reservation", events, reservations, findings);
    checkStationEdges(events, findings);
  }
  await checkStored();
}

/** Waits until the holds have expired and no event comes any more. */
async function untilQuiet(base: string, key: string): Promise<void> {
  const begin = Date.now();
  while (Date.now() - begin < HOLDS_EXPIRE_MS) {
    if ((await walk(base, key, "/v1/reservations?status=active")).length === 0) break;
    await setTimeout(2000);
  }
  for (let before = -1, now = 0; before !== now; before = now, now = await countEvents(base, key))
    await setTimeout(3000);
}

/** Where the operator believes a bike to stand, there it is shown: no late or repeated report has moved it. */
async function compareBikes(base: string, key: string, simulation: Simulation, { expect }: Findings): Promise<void> {
  const bikes = new Map((await walk(base, key, "/v1/bikes")).map((bike) => [bike["id"], bike]));
  for (const [bikeId, station] of simulation.standing()) {
    const bike = bikes.get(bikeId);
    const stands =
      bike?.["station_id"] === station.id && ["available", "reserved"].includes(String(bike["vehicle_state"]));
    expect(stands, () => `bike ${bikeId} must stand at ${station.id}, but is shown as ${JSON.stringify(bike)}`);
  }
  say(`${simulation.standing().size} bikes stand where they must`);
}

/** Every acknowledged reservation is there, and no other: a repeated request has never made a second one. */
function compareReservations({ promised }: ClientLedger, shown: readonly Record<string, unknown>[]): void {
  const byId = new Map(shown.map((reservation) => [reservation["id"], reservation]));
  for (const [id, { reservation, cancelled }] of promised) {
    const found = byId.get(id);
    const isSame = found?.["bike_id"] === reservation.bike_id && found["rider_ref"] === reservation.rider_ref;
    findings.expect(isSame, () => `reservation ${id} was promised, shown is ${JSON.stringify(found)}`);
    findings.expect(
      !cancelled || found?.["status"] === "cancelled",
      () => `reservation ${id} was cancelled, but is not`,
    );
  }
  for (const id of byId.keys()) {
    findings.expect(promised.has(String(id)), () => `reservation ${String(id)} was never acknowledged to anyone`);
  }
}

async function checkStored(): Promise<void> {
  const child = promisify(execFile)(process.execPath, ["--conditions=@bikeshare/source", MAIN, "check"], {
    env: { ...process.env, ...env },
  });
  await child.then(
    ({ stdout }) => say(`${stdout.trim().split("\n").length} invariants hold`),
    (error: unknown) =>
      findings.expect(false, () => `check: ${(error as { stdout?: string }).stdout ?? String(error)}`),
  );
}
