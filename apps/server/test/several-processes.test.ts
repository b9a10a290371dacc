import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { createTestIds, findFreePort, serviceProgram } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { upsertStations } from "../src/city/fleet/station-commands.ts";
import { issueKey, revokeKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { type Balancer, startBalancer } from "./servers/balancer.ts";
import { hasRedis, type RedisServer, startRedis, WITH_REDIS } from "./servers/redis-server.ts";
import { signIn } from "./sign-in.ts";
import { until } from "./until.ts";

/** `serve --role api` in a separate process, as operators run it. */
interface Process {
  readonly url: string;
  /** Returns the value of a metric of the process. */
  metric(name: string): Promise<number>;
  concerns(): Promise<readonly string[]>;
  /** The lines of its log, from `warn` up. */
  readonly logged: readonly string[];
  /** Sends SIGTERM. @returns the exit status */
  stop(): Promise<number | null>;
}

const LIMIT = 60;
const main = await serviceProgram();
const children = new Set<ChildProcess>();
const ids = createTestIds();
/** The real clock, which the processes use too. */
const now = () => Math.round(performance.timeOrigin + performance.now());
const clock = Object.assign(now, { advance: () => undefined });
let database: TestDatabase;
let directory: string;
let balancer: Balancer;
let redis: RedisServer | undefined;
let partnerId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  directory = await mkdtemp(join(tmpdir(), "bikeshare-nodes-"));
  balancer = await startBalancer();
  const context = { db: database.db, clock, ids, actor: "test" };
  const stations = ["a", "b", "c"].map((id) => ({ item: { id, name: id, lat: 1, lon: 2 } }));
  await upsertStations(context, database.systemId, stations);
  partnerId = (await createPartner(context, database.systemId, "Partner")).id;
});
afterAll(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  await balancer.close();
  await redis?.close();
  await database.close();
  await rm(directory, { recursive: true, force: true });
});

async function serve(settings: Readonly<Record<string, string>> = {}): Promise<Process> {
  const metricsPort = await findFreePort();
  const ours = { DATABASE_URL: database.db.connectionString, DATA_DIR: directory, PORT: "0", DRAIN_DELAY: "1s" };
  const child = spawn(process.execPath, ["--conditions=@bikeshare/source", main, "--json", "serve", "--role", "api"], {
    env: {
      ...process.env,
      ...ours,
      METRICS_PORT: `${metricsPort}`,
      LOG_LEVEL: "warn",
      LOG_FORMAT: "json",
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  const ended = once(child, "exit") as Promise<[number | null]>;
  const logged: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => void logged.push(line));
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const { url } = JSON.parse(line) as { url: string };
  balancer.add(url);
  await until(() => balancer.ready().includes(url));
  return {
    url,
    logged,
    async metric(name) {
      const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
    },
    async concerns() {
      const response = await fetch(`${url}/readyz`);
      expect(response.status).toBe(200);
      return ((await response.json()) as { concerns?: string[] }).concerns ?? [];
    },
    async stop() {
      child.kill("SIGTERM");
      const [status] = await ended;
      balancer.remove(url);
      return status;
    },
  };
}

function issue(rateLimit: number) {
  return issueKey(
    { db: database.db, clock, ids, actor: "test" },
    { systemId: database.systemId, partnerId, scopes: ["stations:read"], rateLimit },
  );
}

async function ask(base: string, path: string, key: string): Promise<Response> {
  const response = await fetch(base + path, { headers: { authorization: `Bearer ${key}` } });
  await response.clone().arrayBuffer();
  return response;
}

/** Sends concurrent requests. @returns the number of responses by status */
async function statusesOf(base: string, requests: number, key: string): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  const responses = Array.from({ length: requests }, () => ask(base, "/v1/stations", key));
  for (const { status } of await Promise.all(responses)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Tells whether every process reports (or none does) that it cannot use Redis. */
async function allSay(isRedisLost: boolean, processes: readonly Process[]): Promise<boolean> {
  const concerns = await Promise.all(processes.map((each) => each.concerns()));
  return concerns.every((texts) => texts.some((text) => text.includes("Redis")) === isRedisLost);
}

/**
 * Expects that a key gets exactly its rate limit over all processes. On a busy machine Redis may be late. So the processes
 * must use Redis before the requests are sent, and an attempt during which a process has lost Redis is repeated.
 */
async function expectExactLimit(processes: readonly Process[]): Promise<void> {
  const losses = async () =>
    (await Promise.all(processes.map((each) => each.metric("bikeshare_redis_losses_total")))).join();
  for (let attempt = 1; ; attempt++) {
    await until(() => allSay(false, processes));
    const before = await losses();
    const counts = await statusesOf(balancer.url, 90, (await issue(LIMIT)).key);
    if (attempt < 10 && (await losses()) !== before) continue;
    expect(counts).toEqual({ 200: LIMIT, 429: 30 });
    return;
  }
}

/**
 * Milliseconds between two requests of a client. Too low: the load takes the processor from the processes that start under
 * it.
 */
const CLIENT_PAUSE_MS = 50;

/** Sends requests through the balancer until it is stopped. @returns the responses that were not 200 */
function load(key: string): { stop(): Promise<{ readonly answers: number; readonly failures: readonly string[] }> } {
  let isStopped = false;
  let answers = 0;
  const failures: string[] = [];
  const client = async () => {
    while (!isStopped) {
      const outcome = await ask(balancer.url, "/v1/stations", key).then(({ status }) => String(status), String);
      answers++;
      if (outcome !== "200") failures.push(outcome);
      await sleep(CLIENT_PAUSE_MS);
    }
  };
  const clients = Array.from({ length: 4 }, client);
  return {
    stop: async () => {
      isStopped = true;
      await Promise.all(clients);
      return { answers, failures };
    },
  };
}

/** Creates the Redis account that docs/configuration.md recommends for the service. */
async function createRedisAccount(server: RedisServer): Promise<string> {
  const allowed =
    "~bikeshare:rate:* +@connection +info +eval +evalsha +time +llen +lindex +lrange +ltrim +rpush +pexpire";
  await server.command("ACL", "SETUSER", "bikeshare", "on", ">p@ss/word", ...allowed.split(" "));
  return server.url.replace("//", "//bikeshare:p%40ss%2Fword@");
}

it("without Redis, a second process that answers requests says that the limits are counted by each", async () => {
  const one = await serve({ DRAIN_DELAY: "0s" });
  const notShared = ({ logged }: Process) => logged.filter((line) => line.includes("Set REDIS_URL"));
  expect(notShared(one)).toEqual([]);
  const other = await serve({ DRAIN_DELAY: "0s" });
  await until(() => notShared(other).length > 0);
  expect(notShared(other).map((line) => JSON.parse(line) as object)).toMatchObject([
    { processes: 2, msg: expect.stringMatching(/^several processes answer requests.+ Set REDIS_URL/) as string },
  ]);
  expect([await other.metric("bikeshare_rate_limit_exact"), await other.metric("bikeshare_api_processes")]).toEqual([
    0, 2,
  ]);
  await until(() => notShared(one).length > 0);
  expect(await Promise.all([one.stop(), other.stop()])).toEqual([0, 0]);
});

it.skipIf(!hasRedis)(
  `two processes share limits, sessions, cursors and revocations over TLS, are restarted under load, and survive Redis${WITH_REDIS}`,
  async () => {
    redis = await startRedis({ isEncrypted: true });
    const settings = { REDIS_URL: await createRedisAccount(redis), NODE_EXTRA_CA_CERTS: redis.authorityFile };
    const [one, other] = await Promise.all([serve(settings), serve(settings)]);

    // Rate limit.
    await expectExactLimit([one, other]);
    for (const { url } of [one, other]) expect(balancer.answered.get(url)).toBeGreaterThan(20);

    // Cursors, sessions and revocations.
    const { key, id } = await issue(1_000_000);
    const page = (await (await ask(one.url, "/v1/stations?limit=1", key)).json()) as { next_cursor: string };
    const rest = (await (await ask(other.url, `/v1/stations?limit=5&cursor=${page.next_cursor}`, key)).json()) as {
      data: { id: string }[];
    };
    expect(rest.data.map((station) => station.id)).toEqual(["b", "c"]);
    const person = await signIn({ ...database, clock, ids, url: one.url }, { partnerId });
    for (const { url } of [one, other]) {
      const session = await fetch(`${url}/console/v1/session`, { headers: { cookie: person.cookie } });
      expect(session.status).toBe(200);
      await session.arrayBuffer();
    }
    await revokeKey({ db: database.db, clock, ids, actor: "test" }, database.systemId, id);
    // The limit of 20 s is well below the age at which a process reloads a key without a notification.
    for (const { url } of [one, other])
      await until(async () => (await ask(url, "/v1/stations", key)).status === 401, 20_000);

    // Replaces one process after the other.
    const loaded = load((await issue(1_000_000)).key);
    expect(await one.stop()).toBe(0);
    const third = await serve(settings);
    expect(await other.stop()).toBe(0);
    const fourth = await serve(settings);
    const { answers, failures } = await loaded.stop();
    expect(failures).toEqual([]);
    expect(answers).toBeGreaterThan(100);

    // Redis is lost, and comes back empty.
    const running = [third, fourth];
    await until(
      async () => (await Promise.all(running.map((each) => each.metric("bikeshare_api_processes")))).join() === "2,2",
    );
    await redis.kill();
    await until(() => allSay(true, running));
    const shared = await issue(LIMIT);
    for (const { url } of running) expect(await statusesOf(url, 40, shared.key)).toEqual({ 200: LIMIT / 2, 429: 10 });
    expect(await Promise.all(running.map((each) => each.metric("bikeshare_rate_limit_exact")))).toEqual([0, 0]);
    await until(() => running.every(({ logged }) => logged.join(" ").includes("redis_unavailable")));
    await redis.restart();
    await createRedisAccount(redis);
    await until(
      async () =>
        (await Promise.all(running.map((each) => each.metric("bikeshare_rate_limit_exact")))).join() === "1,1",
    );
    await expectExactLimit(running);
  },
);
