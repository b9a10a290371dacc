import { createTestClock, type TestClock } from "@bikeshare/test-kit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { createSystem } from "../city/systems/service.ts";
import type { Transaction } from "../storage/db/database.ts";
import { statement } from "../storage/db/statement.ts";
import { combineRequests, type RepeatableRequest, withIdempotency } from "./idempotency.ts";
import { type CallOutcome, startIdempotencySweeper } from "./idempotency/service.ts";

const HOUR = 3_600_000;

let database: TestDatabase;
let clock: TestClock;
let made = 0;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.db.transaction((tx) => tx.run("create table effects (n integer not null)"));
});
afterAll(() => database.close());
beforeEach(async () => {
  clock = createTestClock();
  await database.db.transaction(async (tx) => {
    await tx.run("delete from effects");
    await tx.run("delete from idempotency_keys");
  });
});

const context = (runningTimeoutMs = 60_000) => ({ db: database.db, clock, runningTimeoutMs });
/** A context in which a repeated call fails at once while the first call is still running. */
const impatient = () => context(0);
const request = (changes: Partial<RepeatableRequest> = {}): RepeatableRequest => ({
  systemId: "main",
  caller: "partner-1",
  keyId: "key_1",
  path: "/v1/reservations",
  key: "key-1",
  body: { station_id: "s", hold_minutes: 5 },
  ...changes,
});

/** Leaves an effect, and answers differently each time it is called. */
async function work(tx: Transaction): Promise<{ status: number; body: string }> {
  await tx.query(statement("test.effect", "insert into effects values (1)"));
  return { status: 201, body: `{"id":"r${++made}",  "spaces kept":"é"}` };
}

const call = (changes: Partial<RepeatableRequest> = {}, by = context()) => withIdempotency(by, request(changes), work);

/** A call with `key-1` whose work has begun, and goes on when `goOn` is called. */
async function callUnderWay(changes: Partial<RepeatableRequest> = {}) {
  const [entered, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const answer = withIdempotency(context(), request(changes), async (tx) => {
    entered.resolve();
    await left.promise;
    return work(tx);
  });
  await entered.promise;
  return { answer, goOn: () => left.resolve() };
}

async function count(table: "effects" | "idempotency_keys"): Promise<number> {
  const [row] = await database.db.query<{ n: number }>(statement("", `select count(*) as n from ${table}`));
  return row?.n ?? 0;
}

describe("a call without a key", () => {
  it("does its work each time and leaves no trace", async () => {
    const answers = [await call({ key: undefined }), await call({ key: undefined })];
    expect(answers[0]?.body).not.toBe(answers[1]?.body);
    expect(answers.map(({ replayed }) => replayed)).toEqual([false, false]);
    expect([await count("effects"), await count("idempotency_keys")]).toEqual([2, 0]);
  });
});

describe("a call with a key", () => {
  it("is answered with the first call's status and bytes when it comes again, and has its effect once", async () => {
    const first = await call();
    const second = await call({ body: { hold_minutes: 5, station_id: "s" } });
    expect(first).toMatchObject({ status: 201, replayed: false });
    expect(second).toEqual({ ...first, replayed: true });
    expect(await count("effects")).toBe(1);
  });

  it("is refused with idempotency_key_reused when it comes again with another body", async () => {
    const first = await call();
    for (const body of [{ station_id: "s", hold_minutes: 6 }, { station_id: "s" }, undefined, null]) {
      await expect(call({ body })).rejects.toMatchObject({ code: "idempotency_key_reused" });
    }
    expect(await call()).toEqual({ ...first, replayed: true });
    expect(await count("effects")).toBe(1);
  });

  it("means something only to its caller, at its path, in its system", async () => {
    await createSystem(database.db, "other", "Other", 0);
    for (const other of [
      {},
      { caller: "partner-2" },
      { caller: "operator" },
      { path: "/v1/other" },
      { systemId: "other" },
      { key: "KEY-1" },
    ]) {
      expect((await call(other)).replayed).toBe(false);
    }
    expect(await count("effects")).toBe(6);
  });

  it("counts as never made when its work fails", async () => {
    const failure = new Error("no bike");
    const failing = withIdempotency(context(), request(), async (tx) => {
      await work(tx);
      throw failure;
    });
    await expect(failing).rejects.toBe(failure);
    expect([await count("effects"), await count("idempotency_keys")]).toEqual([0, 0]);
    expect((await call({ body: "another" })).replayed).toBe(false);
  });

  it("is as new after 24 hours, not before", async () => {
    const first = await call();
    clock.advance(24 * HOUR);
    expect(await call()).toEqual({ ...first, replayed: true });
    clock.advance(1);
    const second = await call({ body: "another" });
    expect(second.replayed).toBe(false);
    expect(await call({ body: "another" })).toEqual({ ...second, replayed: true });
    expect(await count("effects")).toBe(2);
  });

  it("waits for the first while that is still running, and gets its answer", async () => {
    const { answer, goOn } = await callUnderWay();
    const repeats = [call(), call({ body: "another" })];
    expect((await call({ key: "key-2" })).replayed).toBe(false);
    // The earlier repeats have found by then that the first call is running.
    await expect(call({}, impatient())).rejects.toMatchObject({ code: "idempotency_in_progress" });
    goOn();
    const first = await answer;
    expect(await Promise.allSettled(repeats)).toMatchObject([
      { value: { ...first, replayed: true } },
      { reason: { code: "idempotency_key_reused" } },
    ]);
    expect(await count("effects")).toBe(2);
  });

  it("is refused with idempotency_in_progress when the first runs for too long, which then ends as if alone", async () => {
    const { answer, goOn } = await callUnderWay();
    await expect(call({}, impatient())).rejects.toMatchObject({ code: "idempotency_in_progress" });
    await expect(call({ body: "another" }, impatient())).rejects.toMatchObject({ code: "idempotency_in_progress" });
    goOn();
    expect(await call()).toEqual({ ...(await answer), replayed: true });
    expect(await count("effects")).toBe(1);
  });

  it("has its effect once, of a hundred that come at once; the others are replayed", async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => call({ key: `round-${round}` })));
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
      expect(await count("effects")).toBe(round + 1);
    }
  });

  it("leaves the lock timeout of its other statements as it was", async () => {
    const lockTimeout = statement("test.lockTimeout", "select current_setting('lock_timeout') as lock_timeout");
    const read = async (tx: Transaction) => ({ status: 200, body: JSON.stringify(await tx.query(lockTimeout)) });
    expect((await withIdempotency(context(), request(), read)).body).toBe('[{"lock_timeout":"0"}]');
  });
});

describe("a key", () => {
  it("has 1 to 255 visible ASCII characters; any other is refused, naming the header", async () => {
    for (const key of ["", " ", "a b", "é", "a\tb", "x".repeat(256)]) {
      await expect(call({ key }), JSON.stringify(key)).rejects.toMatchObject({
        code: "invalid_parameter",
        message: expect.stringMatching(/^Idempotency-Key /) as string,
      });
    }
    for (const key of ["!", "~", "x".repeat(255)]) expect((await call({ key })).status).toBe(201);
  });
});

describe("the sweeper", () => {
  it("forgets what is older than 24 hours in every system, many batches of it, and nothing else", async () => {
    await call({ key: "old" });
    await call({ key: "old", systemId: "other" });
    await database.db.transaction((tx) =>
      tx.run(`insert into idempotency_keys (system_id, caller, path, key, body_hash, status, body, created_at)
              select 'main', 'p', '/', n::text, '', 200, '', timestamptz '2026-05-01' from generate_series(1, 2500) as n`),
    );
    clock.advance(24 * HOUR);
    const systems = () => Promise.resolve(["main", "other"]);
    const sweeper = startIdempotencySweeper({ ...context(), systems, onError: () => undefined });
    expect(await sweeper.runOnce()).toBe(2500);
    await call({ key: "young" });
    clock.advance(1);
    expect(await sweeper.runOnce()).toBe(2);
    await sweeper.close();
    expect(await count("idempotency_keys")).toBe(1);
  });
});

describe("requests that share a transaction", () => {
  const refused = new Error("refused");
  /** Each input has an effect and its own answer, unless it is `bad`, `alone` or `poison`, or was answered before. */
  const run = (by = context()) =>
    combineRequests<string>(by, {
      together: async (_systemId, tx, inputs, answered) => {
        if (inputs.includes("poison")) await tx.query(statement("test.poison", "select 1 / 0"));
        const outcomes: CallOutcome[] = [];
        for (const [index, input] of inputs.entries()) {
          if ((await answered).has(index)) outcomes.push({ error: new Error("nobody is told") });
          else if (input === "bad") outcomes.push({ error: refused });
          else if (input === "alone") outcomes.push("run-alone");
          else outcomes.push({ result: await work(tx) });
        }
        return outcomes;
      },
      alone: async (_systemId, input, tx) => {
        if (input === "poison") await tx.query(statement("test.poison", "select 1 / 0"));
        if (input === "bad") throw refused;
        return work(tx);
      },
    });
  const named = (key: string | undefined, body: unknown = "body") => request({ key, body });

  it("have their effect once each, of a hundred with one key at once; the others are replayed", async () => {
    const combined = run();
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => combined(named(`round-${round}`), "a")));
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
      expect(await count("effects")).toBe(round + 1);
    }
  });

  it("are each answered by themselves: done, replayed, refused for another body, refused by their verb", async () => {
    const combined = run();
    const earlier = await combined(named("earlier"), "a");
    const outcomes = await Promise.allSettled([
      combined(named("new"), "a"),
      combined(named(undefined), "a"),
      combined(named("earlier"), "a"),
      combined(named("earlier", "another"), "a"),
      combined(named("bad"), "bad"),
      combined(named("alone"), "alone"),
      combined(named("new", "another"), "a"),
    ]);
    expect(outcomes).toMatchObject([
      { value: { status: 201, replayed: false } },
      { value: { status: 201, replayed: false } },
      { value: { ...earlier, replayed: true } },
      { reason: { code: "idempotency_key_reused" } },
      { reason: refused },
      { value: { status: 201, replayed: false } },
      { reason: { code: "idempotency_key_reused" } },
    ]);
    expect(await count("effects")).toBe(4);
  });

  it("that were refused leave no key behind", async () => {
    const combined = run();
    await expect(combined(named("k"), "bad")).rejects.toBe(refused);
    expect(await count("idempotency_keys")).toBe(0);
    expect((await combined(named("k", "another"), "a")).replayed).toBe(false);
  });

  it("are as new after 24 hours, not before", async () => {
    const combined = run();
    const first = await combined(named("k"), "a");
    clock.advance(24 * HOUR);
    expect(await combined(named("k"), "a")).toEqual({ ...first, replayed: true });
    clock.advance(1);
    const second = await combined(named("k", "another"), "a");
    expect(second.replayed).toBe(false);
    expect(await call({ body: "another", key: "k" })).toEqual({ ...second, replayed: true });
  });

  it("do not break each other: a statement that fails for one fails for that one alone", async () => {
    const combined = run();
    const names = [...Array.from({ length: 99 }, (_, n) => `a${n}`), "poison"];
    const outcomes = await Promise.allSettled(names.map((name) => combined(named(name), name)));
    expect(outcomes.slice(0, 99).every(({ status }) => status === "fulfilled")).toBe(true);
    expect(outcomes[99]).toMatchObject({ status: "rejected", reason: { code: "22012" } });
    expect([await count("effects"), await count("idempotency_keys")]).toEqual([99, 99]);
  });

  it("and one that is still running elsewhere: that one gets its answer, or is told so; no other waits with it", async () => {
    const { answer, goOn } = await callUnderWay(named("shared"));
    const isRefused = expect(run(impatient())(named("shared"), "a")).rejects.toMatchObject({
      code: "idempotency_in_progress",
    });
    const combined = run();
    const repeats = Array.from({ length: 10 }, () => combined(named("shared"), "a"));
    const others = ["b", "c", "alone"].map((input) => combined(named(input), input));
    expect(await Promise.all(others)).toMatchObject(others.map(() => ({ replayed: false })));
    await isRefused;
    goOn();
    const first = await answer;
    expect(await Promise.all(repeats)).toEqual(repeats.map(() => ({ ...first, replayed: true })));
    expect(await count("effects")).toBe(4);
  });

  it("and one whose refusal is its own doing, since it was done elsewhere meanwhile: that one is replayed", async () => {
    const { answer, goOn } = await callUnderWay(named("shared"));
    const combined = combineRequests<string>(context(), {
      together: async (_systemId, _tx, inputs, answered) => {
        expect((await answered).size).toBe(0);
        goOn();
        await answer;
        return inputs.map(() => ({ error: refused }));
      },
      alone: () => Promise.reject(refused),
    });
    const repeats = ["shared", "shared", "another"].map((key) => combined(named(key), "a"));
    const replay = { value: { ...(await answer), replayed: true } };
    expect(await Promise.allSettled(repeats)).toMatchObject([replay, replay, { reason: refused }]);
    expect(await count("effects")).toBe(1);
  });

  it("with malformed keys are refused before they wait", async () => {
    await expect(run()(named("a b"), "a")).rejects.toMatchObject({ code: "invalid_parameter" });
  });
});
