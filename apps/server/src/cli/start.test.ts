import { type ChildProcess, type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { createTestClock, createTestIds } from "@bikeshare/test-kit";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { until } from "../../test/until.ts";
import { upsertStations } from "../city/fleet/station-commands.ts";
import { checkInvariants } from "../health/check/service.ts";
import { keysOf } from "../partners/keys/service.ts";
import { statement } from "../storage/db/statement.ts";

const main = join(import.meta.dirname, "../main.ts");
let database: TestDatabase;
let directory: string;
let env: NodeJS.ProcessEnv;
const children = new Set<ChildProcess>();

beforeEach(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-start-"));
  env = {
    ...process.env,
    DATABASE_URL: database.db.connectionString,
    DATA_DIR: directory,
    PORT: "0",
    LOG_LEVEL: "error",
  };
});
afterEach(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  children.clear();
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly key: string | null;
  /** Links that sign in to the dashboard. */
  readonly sign_in: { readonly operator: string; readonly partner: string } | null;
  /** @returns the exit status */
  stop(signal?: "SIGTERM" | "SIGHUP"): Promise<number | null>;
}

async function start(...args: string[]): Promise<Running> {
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", main, "--json", "start", ...args], {
    env,
    stdio: ["ignore", "pipe", "ignore"],
  });
  children.add(child);
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

/** @throws Error when the process ends before it has said anything */
function firstLine(child: ChildProcessByStdio<null, Readable, null>): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("close", (status) => reject(new Error(`ended with ${status} before it said anything`)));
  });
}

async function total({ url, key }: Running, path: string): Promise<number> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } });
  return ((await response.json()) as { total_pages: number }).total_pages;
}

/** Limits the wait until twenty rides have ended. Too low: fails on a busy machine. */
const RIDES_TIMEOUT_MS = 300_000;

/** Asks every second and a half at most: the demo's key makes 60 requests a minute. */
async function untilMore(running: Running, path: string, than: number): Promise<void> {
  let asked = 0;
  await until(async () => {
    if (++asked % 300 !== 0) return false;
    return (await total(running, path)) > than;
  }, RIDES_TIMEOUT_MS);
}

/** Lets a city live until rides have come to their end, and stops it. @returns what it says then */
async function simulateForAWhile(server: Running): Promise<{ readonly waiting: number }> {
  const completed = "/v1/events?event=ride.completed&limit=1";
  const before = await total(server, completed);
  const child = spawn(
    process.execPath,
    ["--conditions=@bikeshare/source", main, "--json", "simulate", "--speed", "1000"],
    { env, stdio: ["ignore", "pipe", "ignore"] },
  );
  children.add(child);
  const said = firstLine(child);
  // Awaited below; until then its failure must not count as unhandled.
  said.catch(() => undefined);
  await untilMore(server, completed, before + 20);
  child.kill("SIGTERM");
  return JSON.parse(await said) as { readonly waiting: number };
}

it("makes a city that lives; a second start goes on with the same city and key; both stop with nothing broken", async () => {
  const completed = "/v1/events?event=ride.completed&limit=1";
  const first = await start("--speed", "1000");
  expect((await readFile(join(directory, "demo-key"), "utf8")).trim()).toBe(first.key);
  for (const link of [first.sign_in?.operator, first.sign_in?.partner])
    expect(link).toMatch(/^http:\/\/localhost:\d+\/dashboard\/invitation#[\w-]{43}$/);
  await untilMore(first, completed, 20);
  const types = await (await fetch(`${first.url}/gbfs/3.0/vehicle_types.json`)).json();
  expect(types).toMatchObject({
    data: {
      vehicle_types: [
        { vehicle_type_id: "bike", propulsion_type: "human" },
        { vehicle_type_id: "ebike", propulsion_type: "electric_assist", max_range_meters: 60_000 },
      ],
    },
  });
  const system = await (await fetch(`${first.url}/gbfs/3.0/system_information.json`)).json();
  expect(system).toMatchObject({
    data: { timezone: "Europe/Amsterdam", feed_contact_email: "feeds@demo-city.example" },
  });
  expect(await first.stop()).toBe(0);

  const second = await start("--speed", "1000");
  expect(second.key).toBe(first.key);
  await untilMore(second, completed, (await total(second, completed)) + 20);
  // As a terminal that is closed does.
  expect(await second.stop("SIGHUP")).toBe(0);

  const checks = await checkInvariants(database.db, database.systemId);
  expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  const keys = await keysOf(database, database.systemId);
  // Of the simulator's own keys nothing is left to look through.
  expect(keys.map(({ name }) => name)).toEqual(["made by start"]);
}, 600_000);

it("what fails after the service is up ends the process with the reason, and leaves nothing open", async () => {
  const constraint = "alter table partners add constraint no_simulator check (name <> 'Simulator')";
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
  // As one that was killed would leave it.
  expect(await readdir(directory)).not.toContain("start.url");
});

it("leaves a database alone that it did not make: no key, no rides, and simulate refuses to mix in its own", async () => {
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
  const server = await start("--speed", "0");
  // As in another terminal: without the port that `start` was given.
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
  const server = await start("--speed", "0");
  env = { ...env, PORT: new URL(server.url).port };
  let ended = await simulateForAWhile(server);
  // A busy machine leaves some messages over within the time that a stop may take: the next run goes on from there.
  while (ended.waiting > 0) ended = await simulateForAWhile(server);
  expect(ended).toMatchObject({ riding: 0, waiting: 0, failures: 0 });
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, ["--conditions=@bikeshare/source", main, ...args], { env });
  await expect(run("simulate", "--url", server.url, "--key", "bss_operator_x")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^--key: everybody on this machine can read a command line\./) as string,
  });
  // Where the first one is, though its own port is free.
  env = { ...env, PORT: "0" };
  await expect(run("start")).rejects.toMatchObject({
    code: 2,
    stderr: `DATA_DIR=${directory}: \`start\` is running there already, at ${server.url}. Use that one, stop it first, or set DATA_DIR to another directory.\n`,
  });
  expect(await server.stop()).toBe(0);
}, 600_000);
