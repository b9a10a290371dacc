import { once } from "node:events";
import { mkdir, rmdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createTestIds } from "@bikeshare/test-kit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { hasRedis, type RedisServer, startDelay, startRedis, WITH_REDIS } from "../../../test/servers/redis-server.ts";
import { until } from "../../../test/until.ts";
import { readConfig } from "../../config.ts";
import { checkRedis, checkRedisMemory } from "../../health/checks/machine-checks.ts";
import { createProcessReports } from "../../health/checks/stored-checks.ts";
import { createConditions } from "../../health/conditions/conditions.ts";
import { updateApiHeartbeat } from "./queries.ts";
import { redisRemedy } from "./rate-limits.ts";
import { type OpenRateLimits, openRateLimits } from "./service.ts";

const LIMIT = 60;
const SHARE = LIMIT / 2;

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  // Another process, so that a share is less than the whole.
  await updateApiHeartbeat(database.db, "other", 86_400_000);
});
afterAll(() => database.close());

interface LoggedDetail {
  readonly condition?: string;
  readonly reason?: string;
  readonly remedy?: string;
}

/** Opens the limits of a new process. Returns also its log lines and reports. */
async function openProcess(redisUrl: string) {
  const logged: { readonly message: string; readonly detail: LoggedDetail }[] = [];
  const write = (detail: LoggedDetail, message: string) => void logged.push({ message, detail });
  const log = { info: write, warn: write, error: write };
  const reports = createProcessReports();
  const conditions = createConditions({ monotonic: () => performance.now(), log });
  const parts = { redisUrl, ids: createTestIds(), logger: log, conditions, reports, onRedisLost: () => undefined };
  const limits = await openRateLimits(database.db, parts);
  onTestFinished(() => limits.close());
  return { limits, logged, reports };
}

/** Returns how many requests of a new key are allowed. */
async function allowedBy(limits: OpenRateLimits, key: string): Promise<number> {
  const limiter = limits.limiter("key");
  const decisions = await Promise.all(Array.from({ length: LIMIT + 5 }, async () => limiter.take(key, LIMIT)));
  return decisions.filter(({ allowed }) => allowed).length;
}

/** Expects that a process starts with a Redis that fails with `says`, and counts in Redis after `mend` was called. */
async function expectShareUntilMended(url: string, says: RegExp, remedy: RegExp, mend: () => Promise<unknown>) {
  const { limits, logged, reports } = await openProcess(url);
  expect(limits.isExact()).toBe(false);
  expect(await allowedBy(limits, "one")).toBe(SHARE);
  expect(logged[0]).toMatchObject({
    message: expect.stringMatching(/^Redis cannot be used/) as string,
    detail: { condition: "redis_unavailable" },
  });
  // On a busy machine the first failure may be a late answer, which has another remedy.
  const { reason = "", ...first } = logged[0]?.detail ?? {};
  expect(first.remedy).toBe(redisRemedy(reason));
  await until(() => reports.list().some(({ fix = "" }) => remedy.test(fix)));
  const doctor = async () => (await checkRedis(readConfig({ REDIS_URL: url }, "/nowhere")))[0];
  let finding = await doctor();
  await until(async () => says.test((finding = await doctor())?.detail ?? ""));
  expect(finding).toMatchObject({ status: "failure", fix: expect.stringMatching(remedy) as string });
  await mend();
  await until(() => limits.isExact());
  expect(logged.at(-1)?.message).toMatch(/^Redis can be used again/);
  expect(reports.list()).toEqual([]);
  await until(async () => (await doctor())?.status === "ok");
}

describe.skipIf(!hasRedis)(
  `a process starts, and is exact by itself once it is mended, with a Redis${WITH_REDIS}`,
  () => {
    let redis: RedisServer;
    beforeEach(async () => {
      redis = await startRedis();
    });
    afterEach(() => redis.close());

    it("that has no database of that number", async () => {
      const mend = async () => {
        await redis.kill();
        await redis.restart("--databases", "100");
      };
      await expectShareUntilMended(`${redis.url}/99`, /DB index is out of range/, /Name a database number/, mend);
    });

    it("that knows another password", async () => {
      const account = (password: string) =>
        redis.command("ACL", "SETUSER", "bikeshare", "on", "resetpass", `>${password}`, "~*", "+@all");
      await account("old");
      const url = redis.url.replace("//", "//bikeshare:new@");
      await expectShareUntilMended(url, /WRONGPASS/, /Correct the user and the password/, () => account("new"));
    });

    it("that asks for a password where none is set", async () => {
      await redis.command("CONFIG", "SET", "requirepass", "secret");
      const mend = () => redis.command("CONFIG", "SET", "requirepass", "");
      await expectShareUntilMended(redis.url, /NOAUTH/, /Correct the user and the password/, mend);
    });

    it("that lets its account run no scripts", async () => {
      await redis.command("ACL", "SETUSER", "bikeshare", "on", ">new", "~*", "+@connection", "+info");
      const url = redis.url.replace("//", "//bikeshare:new@");
      const mend = () => redis.command("ACL", "SETUSER", "bikeshare", "+@all");
      await expectShareUntilMended(url, /NOPERM/, /docs\/configuration\.md/, mend);
    });

    it("that lets its account run scripts, and nothing in them", async () => {
      const allowed = ["~*", "+@connection", "+info", "+evalsha", "+eval", "+time"];
      await redis.command("ACL", "SETUSER", "bikeshare", "on", ">new", ...allowed);
      const url = redis.url.replace("//", "//bikeshare:new@");
      const mend = () => redis.command("ACL", "SETUSER", "bikeshare", "+@all");
      await expectShareUntilMended(url, /can't run this command|NOPERM/, /docs\/configuration\.md/, mend);
    });

    it("that has no scripts", async () => {
      await redis.kill();
      await redis.restart("--rename-command", "EVALSHA", "");
      const mend = async () => {
        await redis.kill();
        await redis.restart();
      };
      await expectShareUntilMended(redis.url, /unknown command/, /rename-command/, mend);
    });

    it("that cannot save its file", async () => {
      // A directory in place of Redis's file makes saving fail.
      const file = join(redis.directory, "dump.rdb");
      await mkdir(file);
      const save = async (status: string) => {
        await redis.command("BGSAVE");
        await until(async () => String(await redis.command("INFO", "persistence")).includes(`bgsave_status:${status}`));
      };
      await redis.command("CONFIG", "SET", "save", "3600 1");
      await save("err");
      const mend = async () => {
        await rmdir(file);
        await save("ok");
      };
      await expectShareUntilMended(redis.url, /MISCONF/, /It cannot save its file/, mend);
    });

    it("that is a replica, and becomes the primary", async () => {
      await redis.command("REPLICAOF", "127.0.0.1", 1);
      const mend = () => redis.command("REPLICAOF", "NO", "ONE");
      await expectShareUntilMended(redis.url, /READONLY/, /It is a replica/, mend);
    });

    it("that is a replica, and whose address leads to the primary later", async () => {
      const primary = await startRedis();
      onTestFinished(() => primary.close());
      await redis.command("REPLICAOF", "127.0.0.1", 1);
      const address = await startDelay(redis.port);
      onTestFinished(() => address.close());
      const mend = () => Promise.resolve((address.port = primary.port));
      await expectShareUntilMended(address.url, /READONLY/, /It is a replica/, mend);
    });
  },
);

it("what to do with a node of a cluster is said", () => {
  for (const says of ["CLUSTERDOWN Hash slot not served", "MOVED 5793 127.0.0.1:7001"])
    expect(redisRemedy(says)).toMatch(/a proxy before the cluster/);
});

it.skipIf(!hasRedis)(`doctor warns of a Redis that may forget counts${WITH_REDIS}`, async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const finding = async () => (await checkRedisMemory(readConfig({ REDIS_URL: redis.url }, "/nowhere")))[0];
  await redis.command("CONFIG", "SET", "maxmemory-policy", "volatile-lru");
  // Without `maxmemory` Redis evicts nothing.
  expect(await finding()).toMatchObject({ status: "ok" });
  await redis.command("CONFIG", "SET", "maxmemory", "100mb");
  expect(await finding()).toMatchObject({
    status: "warning",
    detail: expect.stringContaining("volatile-lru") as string,
    fix: expect.stringContaining("noeviction") as string,
  });
  await redis.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
  expect(await finding()).toMatchObject({ status: "ok" });
});

it("a process starts with a Redis that still reads its file, and is exact once that has been read", async () => {
  let isLoading = true;
  const reply = (command: string): string => {
    if (command === "CLIENT") return "+OK\r\n";
    // Redis answers INFO even while it is loading.
    if (command === "INFO") return "$10\r\nrun_id:abc\r\n";
    if (isLoading) return "-LOADING Redis is loading the dataset in memory\r\n";
    return `*4\r\n:1\r\n:1\r\n:0\r\n:${Math.round(performance.timeOrigin + performance.now())}\r\n`;
  };
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      for (const [, command = ""] of bytes.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g))
        socket.write(reply(command.toUpperCase()));
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expectShareUntilMended(url, /LOADING/, /It reads its file/, () => Promise.resolve((isLoading = false)));
});
