import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import {
  cpuMicroseconds,
  createHttpClient,
  discoverWorld,
  fillCity,
  type HttpClient,
  median,
  percentile,
  processorTimeOf,
  startReceiver,
  type World,
} from "@bikeshare/load";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { copyDatabase, dropDatabase, withDatabaseName } from "../test/server-commands.ts";
import { postgresMicroseconds } from "./postgres-time.ts";
import { describeMachine, inDirectory, MAIN, onPostgres, say, serve, type ServerProcess } from "./processes.ts";
import { tripLines } from "./workload/trip-file.ts";

/*
 * Compares what writing costs in this checkout and in another checkout of this repository, of any commit and with its
 * dependencies installed. Each service runs on its own PostgreSQL. Both get the same load in turns, and are compared by the
 * processor time of service and PostgreSQL together. The background work of a service during the other's turn is counted as
 * a separate figure.
 *
 *   pnpm bench against ../before           everything
 *   pnpm bench against ../before rides     a ride's start and end, in batches and alone
 *   pnpm bench against ../before polls     polls of GBFS documents that do not change
 *   pnpm bench against ../before import    an import of trips
 *   pnpm bench against . log               rides with the log of vehicle events in this service, without it in the other
 *   pnpm bench against . citus <address of plain PostgreSQL> <coordinator's> <each worker's>
 *                                          rides and pages through Citus, in the other on plain PostgreSQL
 *
 * The addresses are of empty databases on this machine; the coordinator knows its workers. With `citus`, three partners
 * get webhooks of each ride.
 */
/** The directory of the other checkout, the one part to run ("": `rides`, `polls` and `import`), and addresses. */
const [other = "", only = "", ...addresses] = process.argv.slice(2);
/** The parts of `LOADS` that are measured. (`import` is no part of them: `compareImports` measures it.) */
const parts = { "": ["rides", "polls"], log: ["rides"], citus: ["rides", "pages"] }[only] ?? [only];
/**
 * Turns of rides and of polls; imports have a fifth as many. A turn takes half a second, so that a slow moment of the
 * machine affects both sides.
 */
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 40);
const WARM_UP_TURNS = 4;
const CITY = { stations: 1_800, bikes: 26_000, rides: 0 };
const TRIPS = Number(process.env["BENCH_TRIPS"] ?? 100_000);
const IMPORTS = Math.ceil(REPETITIONS / 5);
/**
 * For each load: how many rides a request starts or ends, how many requests run at once (`lanes`), and how often each lane
 * starts and ends its rides in a turn.
 */
const RIDES = [
  { name: "batches of 100, 4 at once", ridesPerCall: 100, lanes: 4, times: 1 },
  { name: "one ride a request, 64 at once", ridesPerCall: 1, lanes: 64, times: 2 },
] as const;
/** The GBFS documents that are polled. They do not change during the measurement. */
const POLLED = ["/gbfs/3.0/station_status.json", "/gbfs/3.0/vehicle_status.json"];
const POLL_LANES = 16;
const POLLS_OF_LANE = 40;
const PAGE_LANES = 16;
const PAGES_OF_LANE = 20;
/** Partners of a city with `citus`, each with a webhook endpoint. */
const WEBHOOK_PARTNERS = 3;

/** One of the two compared checkouts, with its PostgreSQL. */
interface Side {
  readonly name: "this" | "other";
  readonly main: string;
  readonly directory: string;
  readonly connectionString: string;
  readonly db: Database;
  /** A connection to each of its PostgreSQL servers, whose processor time is added up. */
  readonly servers: readonly Database[];
}

/**
 * Microseconds of processor time for each command, page or poll. `turns` has one value for each turn. `service` and
 * `postgres` also include the background work during the other side's turns.
 */
interface Cost {
  readonly turns: number[];
  /** Elapsed milliseconds for each command, page or poll of a turn. */
  readonly elapsedMs: number[];
  service: number;
  postgres: number;
  commands: number;
}

/** Sends the requests of one turn. @returns the number of commands, pages or polls */
type Load = (city: ServedCity, turn: number) => Promise<number>;

const LOADS: readonly { readonly name: string; readonly part: string; readonly load: Load }[] = [
  ...RIDES.map((rides) => ({
    name: rides.name,
    part: "rides",
    load: (city: ServedCity, turn: number) => ride(city, rides, turn),
  })),
  { name: "pages of 50 rides by cursor", part: "pages", load: readPages },
  { name: "polls, all answered in full", part: "polls", load: (city) => poll(city, () => ({})) },
  { name: "polls, all answered 304", part: "polls", load: pollUnchanged },
];

if (other === "") throw new Error("name the other checkout: pnpm bench against ../before");
const theirMain = resolve(other, "apps/server/src/main.ts");
if (only === "citus") await compareWithCitus(addresses);
else
  await onPostgres((ours) =>
    onPostgres((theirs) => compareSides([openSide("this", MAIN, ours), openSide("other", theirMain, theirs)])),
  );

async function compareSides(sides: readonly [Side, Side]): Promise<void> {
  try {
    say(`${describeMachine()}; ${REPETITIONS} turns`);
    // Starts each service once, which creates the schema and the system.
    for (const side of sides) await (await serveSide(side)).stop();
    if (only === "citus") await run(sides[0], sides[0].connectionString, ["distribute"]);
    if (only === "" || only === "import") await compareImports(sides, join(sides[0].directory, "trips.csv"));
    if (only !== "import") await compareLoads(sides, LOADS);
  } finally {
    for (const { servers } of sides) for (const db of servers) await db.close();
  }
}

/** Compares this checkout through Citus with the other on plain PostgreSQL. */
async function compareWithCitus([plain = "", ...servers]: readonly string[]): Promise<void> {
  const [coordinator, ...workers] = servers;
  if (coordinator === undefined)
    throw new Error("name the database on plain PostgreSQL, and Citus's coordinator and workers");
  await inDirectory((ours) =>
    inDirectory((theirs) =>
      compareSides([
        openSide("this", MAIN, { directory: ours, connectionString: coordinator }, workers),
        openSide("other", theirMain, { directory: theirs, connectionString: plain }),
      ]),
    ),
  );
}

function openSide(
  name: Side["name"],
  main: string,
  stage: Pick<Side, "directory" | "connectionString">,
  workers: readonly string[] = [],
): Side {
  // Connects to another database than the service's, because PostgreSQL copies a database only while nobody is connected to
  // it.
  const [db, ...others] = [stage.connectionString, ...workers].map((address) =>
    openDatabase({ connectionString: withDatabaseName(address, "postgres") }),
  );
  if (db === undefined) throw new Error("a side has a database");
  return { name, main, ...stage, db, servers: [db, ...others] };
}

function serveSide({ main, directory, connectionString }: Side): Promise<ServerProcess & { readonly url: string }> {
  return serve(environment(directory, connectionString), [], main);
}

function environment(directory: string, connectionString: string): Record<string, string> {
  // A high limit for requests without a key: polls have none, and all come from one address.
  const limit = { PUBLIC_RATE_LIMIT_PER_MINUTE: "1000000" };
  const receivers = { WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOW_PORTS: "1-65535" };
  return { DATABASE_URL: connectionString, DATA_DIR: join(directory, "service"), ...limit, ...receivers };
}

/** Runs a command of a checkout. @returns what it prints */
async function run(side: Side, connectionString: string, words: readonly string[]): Promise<string> {
  const args = ["--conditions=@bikeshare/source", side.main, "--json", ...words];
  const env = { ...process.env, ...environment(side.directory, connectionString) };
  return (await promisify(execFile)(process.execPath, args, { env })).stdout;
}

/** A side whose service runs, with a city in its database. */
interface ServedCity {
  readonly side: Side;
  readonly server: ServerProcess & { readonly url: string };
  readonly client: HttpClient;
  readonly operatorKey: string;
  readonly partnerKey: string;
  readonly world: World;
  /** Addresses of pages of rides, filled at the first turn of pages. */
  readonly pages: string[];
}

/** Creates keys and a city on a side, with partners that receive webhooks at addresses, and starts its service. */
async function openCity(side: Side, receivers: readonly string[]): Promise<ServedCity> {
  const make = async (...words: string[]) =>
    JSON.parse(await run(side, side.connectionString, words)) as { id: string; key: string };
  const issue = async (...whose: string[]) => (await make("keys", "issue", ...whose, "--rate-limit", "1000000")).key;
  const operatorKey = await issue("--operator");
  const { id } = await make("partners", "create", "Bench");
  const partnerKey = await issue("--partner", id, "--scopes", "stations:read,rides:read,bikes:read");
  for (const url of receivers)
    await make(
      "webhooks",
      "set",
      "--partner",
      (await make("partners", "create", url)).id,
      "--url",
      url,
      "--events",
      "ride.started,ride.completed",
    );
  const server = await serveSide(side);
  await fillCity(server.url, operatorKey, CITY, 1);
  // A service logs vehicle events only if it has an agency, which reads them.
  if (only === "log" && side.name === "this") await make("mds", "create-agency", "Bench city");
  // As many connections as a load sends requests at once (`lanes` of RIDES).
  const client = createHttpClient(server.url, { connections: 64 });
  const world = await discoverWorld(server.url, partnerKey, true);
  return { side, server, client, operatorKey, partnerKey, world, pages: [] };
}

async function compareLoads(sides: readonly Side[], loads: typeof LOADS): Promise<void> {
  const receiver = only === "citus" ? await startReceiver({ origins: WEBHOOK_PARTNERS }) : undefined;
  const cities: ServedCity[] = [];
  try {
    for (const side of sides) cities.push(await openCity(side, receiver?.urls ?? []));
    for (const { name, part, load } of loads) if (parts.includes(part)) await compareLoad(cities, name, load);
  } finally {
    for (const { client, server } of cities) {
      client.close();
      await server.stop();
    }
    await receiver?.close();
  }
}

/** Runs a load on both sides in turns, and prints what a command, page or poll costs each of them. */
async function compareLoad(cities: readonly ServedCity[], name: string, load: Load): Promise<void> {
  const costs = cities.map((): Cost => ({ turns: [], elapsedMs: [], service: 0, postgres: 0, commands: 0 }));
  /** The processor time that the service and its PostgreSQL have used so far, in microseconds. */
  const timesOf = ({ side, server }: ServedCity) =>
    Promise.all([cpuMicroseconds(server.pid), serversMicroseconds(side)]);
  const usedBy = (city: ServedCity) => timesOf(city).then(([service, postgres]) => service + postgres);
  // The numbers of these turns are negative, so that they differ from those of the measured turns.
  for (let turn = 0; turn < WARM_UP_TURNS; turn++) for (const city of cities) await load(city, -1 - turn);
  const begun = await Promise.all(cities.map(timesOf));
  for (let turn = 0; turn < REPETITIONS; turn++) {
    // The sides take turns at being first, because the first has colder caches.
    for (const n of turn % 2 === 0 ? [0, 1] : [1, 0]) {
      const [city, cost] = [cities[n], costs[n]];
      if (city === undefined || cost === undefined) throw new Error("there are two cities");
      const before = await usedBy(city);
      const begin = performance.now();
      const commands = await load(city, turn);
      cost.elapsedMs.push((performance.now() - begin) / commands);
      cost.turns.push(((await usedBy(city)) - before) / commands);
      cost.commands += commands;
    }
  }
  for (const [n, city] of cities.entries()) {
    const [cost, before] = [costs[n], begun[n]];
    if (cost === undefined || before === undefined) throw new Error("there are two cities");
    const ended = await timesOf(city);
    cost.service = (ended[0] - before[0]) / cost.commands;
    cost.postgres = (ended[1] - before[1]) / cost.commands;
  }
  printCosts(name, costs);
}

/** Returns the microseconds of processor time that all PostgreSQL servers of a side have used. */
async function serversMicroseconds({ servers }: Side): Promise<number> {
  const used = await Promise.all(servers.map(postgresMicroseconds));
  return used.reduce((sum, each) => sum + each, 0);
}

/** Starts and ends rides, each on a different bike. @returns the number of commands */
async function ride(
  { client, world, operatorKey }: ServedCity,
  { ridesPerCall, lanes, times }: (typeof RIDES)[number],
  turn: number,
): Promise<number> {
  const prefix = randomUUID();
  const send = async (verb: "start" | "end", items: readonly object[]) => {
    const headers = { "idempotency-key": randomUUID() };
    const asked = { method: "POST", path: `/operator/v1/rides/${verb}`, key: operatorKey, headers };
    const { status, body } = await client.ask({ ...asked, body: JSON.stringify({ items }) });
    if (status !== 200 || !body.includes('"failed":0')) throw new Error(`${verb}: ${status} ${body.slice(0, 300)}`);
  };
  // The factors are primes, so that the turns spread over all bikes and stations.
  // A warm-up has a negative turn, and so a negative index: then the request takes the bike at `n`.
  const bikeOf = (n: number) => world.bikes[(turn * 7919 + n) % world.bikes.length] ?? world.bikes[n];
  const stationOf = (n: number) => world.stations[(turn * 31 + n * 17) % world.stations.length] ?? world.stations[0];
  const rideInLane = async (_: unknown, lane: number) => {
    for (let time = 0; time < times; time++) {
      const numbers = Array.from({ length: ridesPerCall }, (__, n) => (time * lanes + lane) * ridesPerCall + n);
      await send(
        "start",
        numbers.map((n) => ({ id: `${prefix}-${n}`, bike_id: bikeOf(n) })),
      );
      const end = (n: number) => ({ id: `${prefix}-${n}`, end_station_id: stationOf(n), distance_meters: 1500 });
      await send("end", numbers.map(end));
    }
  };
  await Promise.all(Array.from({ length: lanes }, rideInLane));
  return 2 * lanes * times * ridesPerCall;
}

/** Reads pages of rides by cursor, many times each. */
async function readPages({ client, partnerKey: key, pages }: ServedCity): Promise<number> {
  const read = async (path: string) => {
    const { status, body } = await client.ask({ path, key });
    if (status !== 200) throw new Error(`${path}: ${status} ${body.slice(0, 300)}`);
    return body;
  };
  let path = "/v1/rides?limit=50";
  while (pages.length < PAGE_LANES) {
    const { next_cursor: cursor } = JSON.parse(await read(path)) as { next_cursor: string | null };
    if (cursor === null) throw new Error("there are too few rides");
    path = `/v1/rides?limit=50&cursor=${encodeURIComponent(cursor)}`;
    pages.push(path);
  }
  const readInLane = async (first: string, lane: number) => {
    for (let n = 0; n < PAGES_OF_LANE; n++) await read(pages[(lane + n) % pages.length] ?? first);
  };
  await Promise.all(pages.map(readInLane));
  return PAGE_LANES * PAGES_OF_LANE;
}

/** Polls documents that do not change. @param headersFor returns the headers for a path */
async function poll(
  { client }: ServedCity,
  headersFor: (path: string) => Readonly<Record<string, string>>,
  expected = 200,
): Promise<number> {
  const pollInLane = async () => {
    for (let n = 0; n < POLLS_OF_LANE; n++) {
      const path = POLLED[n % POLLED.length] ?? "";
      const { status } = await client.ask({ path, headers: headersFor(path) });
      if (status !== expected) throw new Error(`${path}: ${status}`);
    }
  };
  await Promise.all(Array.from({ length: POLL_LANES }, pollInLane));
  return POLL_LANES * POLLS_OF_LANE;
}

async function pollUnchanged(city: ServedCity): Promise<number> {
  const tags = new Map<string, string>();
  for (const path of POLLED) tags.set(path, (await city.client.ask({ path })).headers["etag"] ?? "");
  return poll(city, (path) => ({ "if-none-match": tags.get(path) ?? "" }), 304);
}

function printCosts(name: string, [ours, theirs]: readonly Cost[]): void {
  if (ours === undefined || theirs === undefined) return;
  const ratios = ours.turns.map((turn, n) => turn / (theirs.turns[n] ?? Number.NaN));
  const spread = [0.25, 0.75].map((share) => percentile(ratios, share).toFixed(2)).join(" to ");
  const all = (cost: Cost) => `service ${cost.service.toFixed(0)} and PostgreSQL ${cost.postgres.toFixed(0)} µs each`;
  const rate = median(theirs.elapsedMs) / median(ours.elapsedMs);
  const ratio = (ours.service + ours.postgres) / (theirs.service + theirs.postgres);
  say(
    `${name}: in its turns ${median(ours.turns).toFixed(0)} µs each, the other ${median(theirs.turns).toFixed(0)}: ` +
      `${median(ratios).toFixed(2)} × (middle half ${spread}), by rate ${rate.toFixed(2)} ×; with the background ${all(ours)}, the other ${all(theirs)}: ` +
      `${ratio.toFixed(2)} ×`,
  );
}

async function compareImports(sides: readonly Side[], file: string): Promise<void> {
  await pipeline(Readable.from(tripLines(TRIPS)), createWriteStream(file));
  const ratios: { readonly processor: number; readonly elapsed: number }[] = [];
  for (let round = 1; round <= IMPORTS; round++) {
    const costs = new Map<string, { readonly processor: number; readonly elapsed: number }>();
    for (const side of round % 2 === 1 ? sides : sides.toReversed())
      costs.set(side.name, await importTrips(side, file));
    const [ours, theirs] = [costs.get("this"), costs.get("other")];
    if (ours === undefined || theirs === undefined) throw new Error("there are two sides");
    ratios.push({ processor: ours.processor / theirs.processor, elapsed: ours.elapsed / theirs.elapsed });
    const perRow = (used: number) => (used / TRIPS).toFixed(1);
    say(`import: processor µs a row ${perRow(ours.processor)}, the other ${perRow(theirs.processor)}`);
  }
  const of = (which: "processor" | "elapsed") => median(ratios.map((ratio) => ratio[which])).toFixed(2);
  say(`import of ${TRIPS} trips: processor ${of("processor")} ×, passed ${of("elapsed")} ×`);
}

/**
 * Imports trips into a new database. @returns microseconds of processor time, including the start of the command, and
 * elapsed milliseconds
 */
async function importTrips(side: Side, file: string): Promise<{ processor: number; elapsed: number }> {
  const { connectionString, db } = side;
  const name = "trips_import";
  await copyDatabase(db.connectionString, new URL(connectionString).pathname.slice(1), name);
  const [postgres, begun] = [await postgresMicroseconds(db), performance.now()];
  // The processor time of this process's children that have ended. `run` adds one.
  const { ended } = await processorTimeOf(process.pid);
  const words = ["import", "trips", file, "--time-zone", "America/New_York"];
  const { created } = JSON.parse(await run(side, withDatabaseName(connectionString, name), words)) as {
    created: number;
  };
  const elapsed = performance.now() - begun;
  const processor = (await processorTimeOf(process.pid)).ended - ended + (await postgresMicroseconds(db)) - postgres;
  await dropDatabase(db.connectionString, name);
  // Bikes and start times are random, so a few trips get the same ride id and are rejected.
  if (created < TRIPS * 0.999) throw new Error(`${created} of ${TRIPS} trips were imported`);
  return { processor, elapsed };
}
