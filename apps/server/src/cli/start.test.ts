import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { MDS_MEDIA_TYPE } from "@bikeshare/contract/mds";
import { createTestClock, createTestIds, serviceProgram } from "@bikeshare/test-kit";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { copyTestDatabase, createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { expectOfficial } from "../../test/mds/official-schemas.ts";
import { upsertStations } from "../city/fleet/station-commands.ts";
import { sumWholePast } from "../city/history/sums.ts";
import { checkInvariants } from "../health/check/service.ts";
import { keysOf } from "../partners/keys/service.ts";
import { statement } from "../storage/db/statement.ts";

const main = await serviceProgram();
let database: TestDatabase;
let directory: string;
let env: NodeJS.ProcessEnv;
const children = new Set<ChildProcess>();
/** The lines of the last `start` other than its result, for example why it simulates no rides. */
let remarks: string[] = [];
/** Functions that close what a test used. The first one removes the city of the first `start`, which all tests share. */
const closers: (() => Promise<void>)[] = [];
/** The city that the first `start` made. Tests use copies of it, because to make 50,000 rides takes seconds. */
let made: { readonly database: TestDatabase; readonly directory: string; readonly first: FirstRun };

/** What the first `start` printed and served until it was stopped. */
interface FirstRun extends Pick<Running, "key" | "sign_in"> {
  readonly keptKey: string;
  readonly completedRides: number;
  /** The reasons for which rides ended. */
  readonly endReasons: readonly string[];
  readonly vehicleTypes: unknown;
  readonly systemInformation: unknown;
  readonly status: number | null;
}

beforeAll(async () => {
  await useWorld(await createTestDatabase());
  const first = await start("--speed", SPEED);
  // Stops it while it writes the rest of the past, which demo-feeds.test.ts checks: each test copies the city.
  await untilCompleted(5);
  const json = async (path: string): Promise<unknown> => (await fetch(`${first.url}${path}`)).json();
  made = {
    database,
    directory,
    first: {
      key: first.key,
      sign_in: first.sign_in,
      keptKey: (await readFile(join(directory, "demo-key"), "utf8")).trim(),
      completedRides: await total(first, COMPLETED),
      endReasons: (await database.db.query<{ end_reason: string }>(endReasons)).map((row) => row.end_reason),
      vehicleTypes: await json("/gbfs/3.0/vehicle_types.json"),
      systemInformation: await json("/gbfs/3.0/system_information.json"),
      status: await first.stop(),
    },
  };
  // Sums the past once. Otherwise each `start` on a copy would do it again.
  const context = { db: database.db, clock: Date.now, monotonic: () => performance.now() };
  await sumWholePast(context, database.systemId, new AbortController().signal);
  await database.db.close();
}, 600_000);
afterEach(async () => {
  await endChildren();
  for (const close of closers.splice(1)) await close();
});
afterAll(async () => {
  await endChildren();
  for (const close of closers.splice(0)) await close();
});

/** Lets the following commands use a database, and a new data directory. */
async function useWorld(used: TestDatabase): Promise<void> {
  const own = await mkdtemp(join(tmpdir(), "bikeshare-start-"));
  closers.push(async () => {
    await used.close();
    await rm(own, { recursive: true, force: true });
  });
  database = used;
  directory = own;
  env = {
    ...process.env,
    DATABASE_URL: database.db.connectionString,
    DATA_DIR: directory,
    PORT: "0",
    LOG_LEVEL: "error",
  };
}

/** Lets the following commands use a copy of the city that the first `start` made. */
async function useMadeCity(): Promise<void> {
  await useWorld(await copyTestDatabase(made.database));
  await cp(made.directory, directory, { recursive: true });
}

async function endChildren(): Promise<void> {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  children.clear();
}

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string | null;
  /** Links that sign a person in to the dashboard. */
  readonly sign_in: { readonly operator: string; readonly partner: string } | null;
  /** @returns the exit status */
  stop(signal?: "SIGTERM" | "SIGHUP"): Promise<number | null>;
}

async function start(...args: string[]): Promise<Running> {
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", main, "--json", "start", ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  remarks = [];
  createInterface({ input: child.stderr }).on("line", (line) => remarks.push(line));
  const line = await firstLine(child);
  const { url, key, sign_in } = JSON.parse(line) as Pick<Running, "url" | "key" | "sign_in">;
  return {
    child,
    url,
    key,
    sign_in,
    stop: async (signal = "SIGTERM") => {
      const ended = once(child, "exit");
      child.kill(signal);
      await ended;
      return child.exitCode;
    },
  };
}

/** @throws Error when the process ends before it has printed a line */
function firstLine(child: ChildProcessByStdio<null, Readable, Readable | null>): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("close", (status) => reject(new Error(`ended with ${status} before it said anything`)));
  });
}

async function total({ url, key }: Running, path: string): Promise<number> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { total_pages: number }).total_pages;
}

const endReasons = statement("", "select distinct end_reason from rides where end_reason is not null");

/**
 * How many times faster than real time the city lives. If it is too low, rides take long. If it is too high, the simulator
 * takes processor time from the service.
 */
const SPEED = "1000";
const COMPLETED = "/v1/events?event=ride.completed&limit=1";
/** Limits the wait until five rides have ended. If it is too low, the test fails on a busy machine. */
const RIDES_TIMEOUT_MS = 300_000;

async function countCompleted(): Promise<number> {
  const counted = statement("", "select count(*)::int as n from events where name = 'ride.completed'");
  return (await database.db.query<{ n: number }>(counted))[0]?.n ?? 0;
}

/** Waits for simulated rides to end. Asks the database, because the demo's key permits only 60 requests a minute. */
async function untilCompleted(rides: number): Promise<void> {
  await vi
    .waitUntil(async () => (await countCompleted()) >= rides, { timeout: RIDES_TIMEOUT_MS, interval: 50 })
    .catch((cause: unknown) => {
      throw new Error(`No ${rides} rides have ended. \`start\` said: ${remarks.join("\n")}`, { cause });
    });
}

/**
 * Runs `simulate` until 5 more rides have ended, then stops it.
 * @returns what it printed at its end
 */
async function simulateForAWhile(server: Running): Promise<{ readonly waiting: number }> {
  const before = await total(server, COMPLETED);
  const child = spawn(
    process.execPath,
    ["--conditions=@bikeshare/source", main, "--json", "simulate", "--speed", SPEED],
    { env, stdio: ["ignore", "pipe", "ignore"] },
  );
  children.add(child);
  const said = firstLine(child);
  // `said` is awaited below. Until then a failure must not count as an unhandled rejection.
  said.catch(() => undefined);
  await untilCompleted(before + 5);
  child.kill("SIGTERM");
  return JSON.parse(await said) as { readonly waiting: number };
}

it("makes a city that lives, with a key and links, and stops", () => {
  const { first } = made;
  expect(first.keptKey).toBe(first.key);
  for (const link of [first.sign_in?.operator, first.sign_in?.partner])
    expect(link).toMatch(/^http:\/\/localhost:\d+\/dashboard\/invitation#[\w-]{43}$/);
  expect(first.completedRides).toBeGreaterThanOrEqual(5);
  // Rides that were under way when the city was made end normally, not by a timeout.
  expect(first.endReasons).not.toContain("timeout");
  expect(first.vehicleTypes).toMatchObject({
    data: {
      vehicle_types: [
        { vehicle_type_id: "bike", propulsion_type: "human" },
        { vehicle_type_id: "ebike", propulsion_type: "electric_assist", max_range_meters: 60_000 },
      ],
    },
  });
  expect(first.systemInformation).toMatchObject({
    data: { timezone: "Europe/Amsterdam", feed_contact_email: "feeds@demo-city.example" },
  });
  expect(first.status).toBe(0);
});

it("a second start goes on with the same city and key, at the port where it listens, whatever its public address is; both stop with nothing broken", async () => {
  await useMadeCity();
  env = { ...env, PUBLIC_URL: "https://bikes.example.com" };
  const before = await countCompleted();
  const second = await start("--speed", SPEED);
  expect(second).toMatchObject({ key: made.first.key, url: "https://bikes.example.com" });
  await untilCompleted(before + 5);
  expect(remarks.filter((line) => line.includes("No rides are simulated"))).toEqual([]);
  // SIGHUP is what a terminal sends when it is closed.
  expect(await second.stop("SIGHUP")).toBe(0);

  const checks = await checkInvariants(database.db, database.systemId);
  expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  const keys = await keysOf(database, database.systemId);
  // The simulator has removed its own keys.
  expect(keys.map(({ name }) => name)).toEqual(["made by start"]);
}, 600_000);

it("what fails after the service is up ends the process with the reason, and leaves nothing open", async () => {
  await useMadeCity();
  const constraint = "alter table keys add constraint no_simulator check (name <> 'made by the simulator') not valid";
  await database.db.query(statement("", constraint));
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", main, "--json", "start"], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  const [said, errors] = [text(child.stdout), text(child.stderr)];
  await once(child, "close");
  const { url } = JSON.parse(await said) as { url: string };
  expect((await errors).trimEnd().split("\n").at(-1)).toMatch(/violates check constraint/);
  expect(child.exitCode).toBe(1);
  await expect(fetch(url)).rejects.toThrow("fetch failed");
  // Only a process that is killed leaves this file behind.
  expect(await readdir(directory)).not.toContain("start.url");
});

it("leaves a database alone that it did not make: no key, no rides, and simulate refuses to mix in its own", async () => {
  await useWorld(await createTestDatabase());
  const context = { db: database.db, clock: createTestClock(), ids: createTestIds() };
  await upsertStations(context, database.systemId, [{ item: { id: "real", name: "Real", lat: 1, lon: 2 } }]);
  const running = await start();
  expect(running.key).toBeNull();
  expect(running.sign_in).toBeNull();
  expect(await keysOf(database, database.systemId)).toEqual([]);
  env = { ...env, PORT: new URL(running.url).port };
  const simulate = promisify(execFile)(process.execPath, ["--conditions=@bikeshare/source", main, "simulate"], { env });
  await expect(simulate).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining("System main holds other data") as string,
  });
  expect(await running.stop()).toBe(0);
  const left = await keysOf(database, database.systemId);
  expect(left.filter(({ revoked_at }) => revoked_at === null)).toEqual([]);
});

it("beside a running `start` its commands know its address, and receivers on this machine may be set", async () => {
  await useMadeCity();
  const server = await start("--speed", "0");
  // Another terminal does not have the port that `start` was given.
  env = { ...env, PORT: "" };
  const run = async (...args: string[]) => {
    const command = ["--conditions=@bikeshare/source", main, "--json", ...args];
    return JSON.parse((await promisify(execFile)(process.execPath, command, { env })).stdout) as Record<
      string,
      unknown
    >;
  };
  const invited = await run("console", "invite", "--operator", "--email", "a@example.com");
  expect(new URL(String(invited["url"])).port).toBe(new URL(server.url).port);
  const [key] = await keysOf(database, database.systemId);
  const set = ["webhooks", "set", "--partner", key?.partner_id ?? "", "--url"];
  expect(await run(...set, "http://localhost:4210/hooks")).toMatchObject({ url: "http://localhost:4210/hooks" });
  await expect(run(...set, "http://10.0.0.1:4210/hooks")).rejects.toMatchObject({ code: 1 });
  expect(await server.stop()).toBe(0);
  await expect(run(...set, "http://localhost:4211/hooks")).rejects.toMatchObject({ code: 1 });
}, 600_000);

it("simulate drives a running service, ends its rides when it is stopped, and takes no key on the command line", async () => {
  await useMadeCity();
  const server = await start("--speed", "0");
  env = { ...env, PORT: new URL(server.url).port };
  let ended = await simulateForAWhile(server);
  // On a busy machine some messages still wait when the time for a stop is over. The next run sends them.
  while (ended.waiting > 0) ended = await simulateForAWhile(server);
  expect(ended).toMatchObject({ riding: 0, waiting: 0, failures: 0 });
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, ["--conditions=@bikeshare/source", main, ...args], { env });
  await expect(run("simulate", "--url", server.url, "--key", "bss_operator_x")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^--key: everybody on this machine can read a command line\./) as string,
  });
  // A second `start` in the same data directory is refused, though its own port is free.
  env = { ...env, PORT: "0" };
  await expect(run("start")).rejects.toMatchObject({
    code: 2,
    stderr: `DATA_DIR=${directory}: \`start\` is running there already, at ${server.url}. Use that one, stop it first, or set DATA_DIR to another directory.\n`,
  });
  expect(await server.stop()).toBe(0);
}, 600_000);

it("with MDS on one command gives a city a token, vehicles, their states, events, stops and trips, all as MDS wants them", async () => {
  await useMadeCity();
  env = { ...env, MDS: "on" };
  const server = await start("--speed", SPEED);
  const command = [
    "--conditions=@bikeshare/source",
    main,
    "--json",
    "mds",
    "create-agency",
    "City",
    "--trips-since",
    "24h",
  ];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: { ...env, PORT: "" } });
  const { client_id: id, key } = JSON.parse(stdout) as { readonly client_id: string; readonly key: string };
  await untilCompleted((await total(server, COMPLETED)) + 5);
  const { access_token: token } = (await (
    await fetch(`${server.url}/mds/token`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${id}:${key}`)}` },
      body: new URLSearchParams({ grant_type: "client_credentials" }),
    })
  ).json()) as { readonly access_token: string };
  const read = async (name: string, path: string) => {
    const headers = { accept: MDS_MEDIA_TYPE, authorization: `Bearer ${token}` };
    const response = await fetch(`${server.url}/mds/${path}`, { headers });
    expect([path, response.status]).toEqual([path, 200]);
    const document = (await response.json()) as Readonly<Record<string, readonly unknown[]>>;
    expectOfficial(name, document);
    return document;
  };
  const lists = [
    ...[(await read("get-vehicles", "vehicles"))["vehicles"], (await read("get-stops", "stops"))["stops"]],
    (await read("get-vehicles-status", "vehicles/status"))["vehicles_status"],
    (
      await read(
        "get-events-recent-start_time-end_time",
        `events/recent?start_time=${Date.now() - 3_600_000}&end_time=${Date.now()}`,
      )
    )["events"],
  ];
  for (const list of lists) expect(list?.length).toBeGreaterThan(10);
  // An hour is settled an hour after its end.
  const hours = Array.from({ length: 20 }, (_, index) => new Date(Date.now() - (index + 3) * 3_600_000).toISOString());
  let trips = 0;
  for (const hour of hours)
    trips += (await read("get-trips-end_time", `trips?end_time=${hour.slice(0, 13)}`))["trips"]?.length ?? 0;
  expect(trips).toBeGreaterThan(0);
  expect(await server.stop()).toBe(0);
}, 600_000);
