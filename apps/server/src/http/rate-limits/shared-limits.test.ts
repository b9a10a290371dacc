import { randomUUID } from "node:crypto";
import { createMemoryRateLimiter, type RateDecision, rateDecision } from "@bikeshare/rules";
import { createTestClock } from "@bikeshare/test-kit";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hasRedis, type RedisServer, startDelay, startRedis, WITH_REDIS } from "../../../test/servers/redis-server.ts";
import { until } from "../../../test/until.ts";
import { createSignInLimits } from "../../console/people/context.ts";
import type { RateLimits, SweptRateLimiter } from "./rate-limits.ts";
import { openRedisStore } from "./redis-store.ts";
import { createSharedRateLimits } from "./service.ts";
import { type RateStore, readReply, scriptArguments, SharedWindows, windowScript } from "./shared-windows.ts";

const LIMIT = 60;
const PROCESSES = 3;
const SHARE = LIMIT / PROCESSES;
/** Timeout of tests that are not about timeouts. Too low: fails them on a busy machine. */
const NEVER_LATE_MS = 10_000;

let redis: RedisServer;
const opened: Process[] = [];

beforeAll(async () => {
  if (hasRedis) redis = await startRedis();
});
afterEach(() => {
  for (const process of opened.splice(0)) process.close();
});
afterAll(() => redis?.close());

/** The limits as one process has them. */
interface Process {
  readonly limits: RateLimits;
  readonly limiter: SweptRateLimiter;
  /** The reported changes of the store, `lost` and `back`, in order. */
  readonly changes: string[];
  readonly asked: { count: number };
  close(): void;
}

interface ProcessOptions {
  readonly url?: string;
  readonly timeoutMs?: number;
  readonly windowMs?: number;
  /** Counts in this Redis, by a clock that is ahead by the value of its key `CLOCK_OFFSET`. */
  readonly countIn?: RedisServer;
}

/** The Redis key with the offset of the clock in milliseconds. */
const CLOCK_OFFSET = "clock-offset";
const SET_CLOCK = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(redis.call('GET', '${CLOCK_OFFSET}') or '0')`;

async function openProcess({ url = redis.url, timeoutMs = NEVER_LATE_MS, windowMs, countIn }: ProcessOptions = {}) {
  const changes: string[] = [];
  const asked = { count: 0 };
  const monotonic = () => performance.now();
  const note = (change: string) => (changes.at(-1) === change ? undefined : void changes.push(change));
  const windows = new SharedWindows({
    store: () => counted,
    monotonic,
    timeoutMs,
    checkIntervalMs: 20,
    onFailed: () => note("lost"),
    onUsable: () => note("back"),
  });
  const store = openRedisStore({
    url,
    onConnected: () => void windows.check(),
    onLost: (error) => windows.lost(error),
  });
  const counted: RateStore = {
    ...store,
    async count(request) {
      asked.count++;
      if (countIn === undefined) return store.count(request);
      return readReply(
        await countIn.command("EVAL", windowScript(SET_CLOCK), 1, request.key, ...scriptArguments(request)),
      );
    },
  };
  const limits = createSharedRateLimits({
    windows,
    processes: () => PROCESSES,
    clock: () => performance.timeOrigin + performance.now(),
    monotonic,
  });
  const limiter = limits.limiter("key", windowMs);
  const close = () => {
    windows.close();
    store.close();
  };
  const process: Process = { limits, limiter, changes, asked, close };
  opened.push(process);
  await until(() => limits.isExact());
  return process;
}

const openProcesses = (options?: ProcessOptions) =>
  Promise.all(Array.from({ length: PROCESSES }, () => openProcess(options)));
const allowedOf = (decisions: readonly RateDecision[]) => decisions.filter(({ allowed }) => allowed).length;
const take = (process: Process, key: string, requests: number, limit = LIMIT) =>
  Promise.all(Array.from({ length: requests }, async () => process.limiter.take(key, limit)));
const untilLost = (processes: readonly Process[]) =>
  until(() => processes.every(({ limits, changes }) => !limits.isExact() && changes.at(-1) === "lost"));
const untilBack = (processes: readonly Process[]) =>
  until(() => processes.every(({ limits, changes }) => limits.isExact() && changes.at(-1) === "back"));

describe.skipIf(!hasRedis)(`counting in Redis${WITH_REDIS}`, () => {
  it("decides as the limiter in memory does, whatever the times, keys and limits", async () => {
    const script = windowScript("local now = tonumber(ARGV[4])");
    const step = fc.record({
      move: fc.oneof(fc.constant(0), fc.nat(200), fc.nat(20_000), fc.constantFrom(59_999, 60_000, 60_001, -5_000)),
      key: fc.constantFrom("a", "b"),
      limit: fc.oneof(
        { weight: 5, arbitrary: fc.constant(7) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 300 }) },
      ),
      isTaken: fc.boolean(),
      times: fc.constantFrom(1, 1, 1, 200),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60 }), async (steps) => {
        const clock = createTestClock();
        const memory = createMemoryRateLimiter(clock);
        const run = randomUUID();
        const expected: RateDecision[] = [];
        const replies: Promise<unknown>[] = [];
        for (const { move, key, limit, isTaken, times } of steps) {
          clock.advance(move);
          for (let repeat = 0; repeat < times; repeat++) {
            expected.push(isTaken ? memory.take(key, limit) : memory.peek(key, limit));
            const request = { key: `${run}:${key}`, limit, windowMs: 60_000, isTaken };
            replies.push(redis.command("EVAL", script, 1, request.key, ...scriptArguments(request), clock()));
          }
        }
        const states = (await Promise.all(replies)).map(readReply);
        expect(states.map((state, index) => rateDecision(expected[index]?.limit ?? 0, state))).toEqual(expected);
      }),
      { seed: 1, numRuns: 30 },
    );
  });

  it("allows exactly the limit over all processes, and says what is left", async () => {
    const processes = await openProcesses();
    const key = randomUUID();
    const from = performance.now();
    const decisions = (await Promise.all(processes.map((process) => take(process, key, 40)))).flat();
    const passedSeconds = Math.floor((performance.now() - from) / 1_000);
    const left = decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining);
    expect(left.toSorted((a, b) => b - a)).toEqual(Array.from({ length: LIMIT }, (_, n) => LIMIT - 1 - n));
    for (const { limit, resetSeconds } of decisions) {
      expect(limit).toBe(LIMIT);
      // 60, or less if a busy machine takes seconds for the requests.
      expect(resetSeconds).toBeLessThanOrEqual(60);
      expect(resetSeconds).toBeGreaterThanOrEqual(60 - passedSeconds);
    }
    // Another key has a window of its own.
    expect(await processes[0]?.limiter.peek(randomUUID(), LIMIT)).toMatchObject({ allowed: true, remaining: LIMIT });
  });

  it("gives the whole capacity back after a window, on every process, and leaves nothing in Redis", async () => {
    const windowMs = 500;
    const processes = await openProcesses({ windowMs });
    const [first = fail()] = processes;
    let key: string;
    let name: string;
    // Repeated if a busy machine takes a whole window, during which some capacity comes back.
    for (;;) {
      key = randomUUID();
      name = `bikeshare:rate:{key:${key}}`;
      const from = performance.now();
      const found = [allowedOf(await take(first, key, LIMIT + 1)), await redis.command("LLEN", name)];
      if (performance.now() - from >= windowMs) continue;
      expect(found).toEqual([LIMIT, LIMIT]);
      break;
    }
    // Not by one timer, because it may end up to a millisecond early.
    const end = performance.now() + windowMs;
    await until(() => performance.now() >= end);
    for (const { limiter } of processes)
      expect(await limiter.peek(key, LIMIT)).toEqual({
        allowed: true,
        limit: LIMIT,
        remaining: LIMIT,
        resetSeconds: 0,
      });
    expect(await redis.command("EXISTS", name)).toBe(0);
  });

  it("keeps 10 bytes a counted request, and every key expires", async () => {
    const process = await openProcess();
    const key = randomUUID();
    expect(allowedOf(await take(process, key, 5_000, 5_000))).toBe(5_000);
    const name = `bikeshare:rate:{key:${key}}`;
    const bytes = Number(await redis.command("MEMORY", "USAGE", name, "SAMPLES", 0));
    expect(bytes / 5_000).toBeLessThan(12);
    const expiresMs = Number(await redis.command("PTTL", name));
    expect(expiresMs).toBeGreaterThan(0);
    expect(expiresMs).toBeLessThanOrEqual(60_000);
  });

  it("asks no more for a key that was refused, however often it comes, until there may be room", async () => {
    const process = await openProcess();
    const key = randomUUID();
    await take(process, key, LIMIT + 1);
    const before = process.asked.count;
    const refused = await take(process, key, 1_000);
    expect([allowedOf(refused), process.asked.count - before]).toEqual([0, 0]);
    // A raised limit takes effect at once.
    expect((await process.limiter.take(key, LIMIT + 1)).allowed).toBe(true);
  });

  it("counts attempts to sign in over all processes, for a quarter of an hour", async () => {
    const processes = await openProcesses();
    const limits = processes.map((process) => createSignInLimits(process.limits));
    const email = `${randomUUID()}@example.com`;
    const attempts = Array.from({ length: 12 }, async (_, n) => limits[n % PROCESSES]?.count(email, randomUUID()));
    const refused = (await Promise.allSettled(attempts)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(2);
    const details: unknown = expect.objectContaining({ code: "rate_limited" });
    expect(refused).toEqual([1, 2].map(() => ({ status: "rejected", reason: details })));
  });

  it("loads its script again when Redis has forgotten it", async () => {
    const process = await openProcess();
    await redis.command("SCRIPT", "FLUSH");
    const key = randomUUID();
    expect(allowedOf(await take(process, key, LIMIT + 5))).toBe(LIMIT);
    expect(process.changes).toEqual(["back"]);
  });
});

describe.skipIf(!hasRedis)(`while Redis cannot be used${WITH_REDIS}`, () => {
  let own: RedisServer;
  beforeEach(async () => (own = await startRedis()));
  afterEach(() => own.close());

  const failures = {
    "is full": {
      begin: () => own.command("CONFIG", "SET", "maxmemory", 1),
      end: () => own.command("CONFIG", "SET", "maxmemory", 0),
    },
    "is a read-only replica": {
      begin: () => own.command("REPLICAOF", "127.0.0.1", 1),
      end: () => own.command("REPLICAOF", "NO", "ONE"),
    },
    "refuses the password": {
      begin: async () => {
        await own.command("CONFIG", "SET", "requirepass", "changed");
        await own.command("CLIENT", "KILL", "SKIPME", "yes", "TYPE", "normal");
      },
      end: () => own.command("CONFIG", "SET", "requirepass", ""),
    },
    "is gone": { begin: () => own.kill(), end: () => own.restart() },
  };

  it.each(Object.entries(failures))(
    "because it %s, each process allows its share; then the limit is exact again",
    async (_, { begin, end }) => {
      const processes = await openProcesses({ url: own.url });
      await begin();
      // At the latest, the first request finds out that Redis is lost.
      const lost = randomUUID();
      const found = await Promise.all(processes.map((process) => take(process, lost, LIMIT)));
      expect(found.map(allowedOf)).toEqual([SHARE, SHARE, SHARE]);
      await untilLost(processes);
      const [one] = await take(processes[0] ?? fail(), randomUUID(), 1);
      expect(one).toEqual({ allowed: true, limit: LIMIT, remaining: SHARE - 1, resetSeconds: 60 });
      await end();
      await untilBack(processes);
      // Each change is reported once, for any number of requests.
      for (const { changes } of processes) expect(changes).toEqual(["back", "lost", "back"]);
    },
  );

  it("each process goes on from what it has allowed itself: no key gets more than its limit and the others' shares", async () => {
    const processes = await openProcesses({ url: own.url });
    const [first = fail(), ...others] = processes;
    const key = randomUUID();
    expect(allowedOf(await take(first, key, LIMIT))).toBe(LIMIT);
    await own.kill();
    await untilLost(processes);
    expect(allowedOf(await take(first, key, LIMIT))).toBe(0);
    for (const other of others) expect(allowedOf(await take(other, key, LIMIT))).toBe(SHARE);
    // Redis comes back empty, but requests whose counts it has lost are not allowed a second time.
    await own.restart();
    await untilBack(processes);
    for (const process of processes) expect(allowedOf(await take(process, key, LIMIT))).toBe(0);
    const fresh = randomUUID();
    const total = (await Promise.all(processes.map((process) => take(process, fresh, LIMIT)))).flat();
    expect(allowedOf(total)).toBe(LIMIT);
  });

  it("because its clock is set, each process allows its share for a window; then the limit is exact again", async () => {
    const windowMs = 2_000;
    const processes = await openProcesses({ url: own.url, windowMs, countIn: own });
    const [first = fail(), ...others] = processes;
    const isExact = async (process: Process) => allowedOf(await take(process, randomUUID(), LIMIT)) === LIMIT;
    for (const offsetMs of [3_600_000, -3_600_000]) {
      await until(async () => (await Promise.all(processes.map(isExact))).every(Boolean));
      const key = randomUUID();
      const from = performance.now();
      expect(allowedOf(await take(first, key, LIMIT))).toBe(LIMIT);
      await own.command("SET", CLOCK_OFFSET, offsetMs);
      // Redis has lost the key's count, but the process that allowed the requests has not.
      const again = allowedOf(await take(first, key, LIMIT));
      if (performance.now() - from < windowMs) expect(again).toBe(0);
      for (const other of others) expect(allowedOf(await take(other, key, LIMIT))).toBeLessThanOrEqual(SHARE);
    }
    await until(async () => (await Promise.all(processes.map(isExact))).every(Boolean));
    for (const { changes } of processes) expect(changes).toEqual(["back"]);
  });

  it("a request waits for a Redis that hangs no longer than its time-out, and the next ones not at all", async () => {
    const process = await openProcess({ url: own.url, timeoutMs: 50 });
    own.freeze();
    const start = performance.now();
    expect(allowedOf(await take(process, randomUUID(), LIMIT))).toBe(SHARE);
    const waitedMs = performance.now() - start;
    expect(waitedMs).toBeGreaterThanOrEqual(49);
    expect(waitedMs).toBeLessThan(10_000);
    await untilLost([process]);
    const before = process.asked.count;
    const later = Array.from({ length: 1_000 }, () => process.limiter.take(randomUUID(), LIMIT));
    // Later requests are decided at once, without a promise.
    expect(later.some((decision) => decision instanceof Promise)).toBe(false);
    expect(process.asked.count).toBe(before);
    own.thaw();
    await untilBack([process]);
  });

  it("one that takes 20 ms still counts for all, and one that takes half a second does not", async () => {
    const delay = await startDelay(own.port);
    delay.delayMs = 20;
    const processes = await openProcesses({ url: delay.url, timeoutMs: 250 });
    const countChanges = () => processes.reduce((sum, { changes }) => sum + changes.length, 0);
    // Repeated if a busy machine makes one of these answers too late.
    for (;;) {
      const before = countChanges();
      const key = randomUUID();
      const exact = (await Promise.all(processes.map((process) => take(process, key, 40)))).flat();
      if (countChanges() !== before) {
        await untilBack(processes);
        continue;
      }
      expect(allowedOf(exact)).toBe(LIMIT);
      break;
    }
    delay.delayMs = 500;
    const shares = await Promise.all(processes.map((process) => take(process, randomUUID(), LIMIT)));
    expect(shares.map(allowedOf)).toEqual([SHARE, SHARE, SHARE]);
    delay.delayMs = 0;
    await untilBack(processes);
    delay.close();
  });
});

function fail(): never {
  throw new Error("no process");
}
