import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createMetrics } from "../src/health/metrics/registry.ts";
import { makeKey } from "../src/partners/keys/key.rules.ts";
import { keysOf } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import type { Database } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp, keyContext } from "./built-app.ts";
import { until } from "./until.ts";

let app: TestApp;
/** A separate process, so that no other test writes to its log and metrics. */
let service: BuiltApp;
/** The number of transactions that this process has begun. */
let transactions = 0;
const metrics = createMetrics({ version: "1" });

beforeAll(async () => {
  app = await startTestApp();
  const db: Database = {
    ...app.db,
    transaction: (work) => {
      transactions++;
      return app.db.transaction(work);
    },
  };
  service = await buildAnother({ ...app, db }, { metrics: metrics.http });
});
beforeEach(() => app.clock.advance(61_000));
afterAll(async () => {
  await service.close();
  await app.close();
});

const ask = (path: string, key?: string) =>
  fetch(service.url + path, key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } });
const madeUp = () => makeKey("live", randomBytes);
const compromisedAt = async (id: string) =>
  (await keysOf(app, app.systemId)).find((row) => row.id === id)?.compromised_at;
const counted = async (name: string) =>
  Number(new RegExp(`^${name.replaceAll(/[{}]/g, "\\$&")} (\\d+)$`, "m").exec(await metrics.text())?.[1]);

describe("wrong credentials", () => {
  it("are told to wait when an address sends many, but a good key behind it always gets in, used before or not", async () => {
    const [used, fresh] = [await app.issue(), await app.issue()];
    expect((await ask("/v1/me", used.key)).status).toBe(200);
    const statuses: number[] = [];
    for (let sent = 0; sent < 125; sent++) statuses.push((await ask("/v1/me", madeUp())).status);
    expect(statuses).toEqual([...Array<number>(120).fill(401), ...Array<number>(5).fill(429)]);
    expect((await ask("/v1/me", used.key)).status).toBe(200);
    expect((await ask("/v1/me", fresh.key)).status).toBe(200);
    // A revocation clears the cached keys of every process. Valid keys must still be accepted.
    const { id } = await app.issue();
    await app.db.query(statement("", "select pg_notify('keys', $1)"), [app.systemId]);
    expect((await ask("/v1/me", used.key)).status).toBe(200);
    expect(id).not.toBe(used.id);
  });

  it("are counted by reason, and are a line at once and one a minute in the log", async () => {
    const before = service.logged.length;
    const reason = (name: string) => counted(`bikeshare_http_refused_requests_total{reason="${name}"}`);
    const [none, unknown, scope] = [
      await reason("no_credentials"),
      await reason("unknown_key"),
      await reason("insufficient_scope"),
    ];
    const narrow = await app.issue({ scopes: ["bikes:read"] });
    for (let repeat = 0; repeat < 3; repeat++) {
      await ask("/v1/me");
      await ask("/v1/me", madeUp());
      await ask("/v1/rides", narrow.key);
    }
    expect(await reason("no_credentials")).toBe(none + 3);
    expect(await reason("unknown_key")).toBe(unknown + 3);
    expect(await reason("insufficient_scope")).toBe(scope + 3);
    const lines = service.logged.slice(before).filter(({ msg }) => msg === "requests refused");
    expect(lines.filter(({ keyId }) => keyId === narrow.id)).toHaveLength(1);
    expect(lines.filter(({ keyId }) => keyId === undefined)).toHaveLength(1);
  });
});

describe("keys in URLs", () => {
  it("are found however they are encoded; three are looked at, and marked in the log with the key's id", async () => {
    const [hidden, third, fourth] = [await app.issue(), await app.issue(), await app.issue()];
    expect((await ask(`/v1/rides?key=${hidden.key.replaceAll("_", "%5F")}`)).status).toBe(400);
    expect(await compromisedAt(hidden.id)).toEqual(new Date(app.clock()));
    const many = [madeUp(), madeUp(), third.key, fourth.key].join("&");
    expect((await ask(`/nothing?${many}`)).status).toBe(400);
    expect(await compromisedAt(third.id)).not.toBeNull();
    expect(await compromisedAt(fourth.id)).toBeNull();
    const warned = service.logged.filter(({ keyId, level }) => level === 40 && keyId === hidden.id);
    expect(warned).toMatchObject([{ where: "url" }]);
    expect(await counted(`bikeshare_compromised_keys_total{where="url"}`)).toBe(2);
  });

  it("cost no transaction unless they are ours and not marked yet, and nothing beyond thirty requests a minute", async () => {
    const { id, key } = await app.issue();
    expect((await ask(`/v1/rides?key=${key}`)).status).toBe(400);
    const at = await compromisedAt(id);
    expect(at).not.toBeNull();
    // The key is marked as compromised, and every process knows it, so another use writes nothing. Repeats if the request
    // log, which is written every second, was written at the same time.
    await until(async () => {
      app.clock.advance(61_000);
      const before = transactions;
      for (let repeat = 0; repeat < 5; repeat++) await ask(`/v1/rides?key=${key}&${madeUp()}`);
      return transactions === before;
    });
    app.clock.advance(61_000);
    for (let sent = 0; sent < 30; sent++) await ask(`/nothing?${madeUp()}`);
    const late = await app.issue();
    expect((await ask(`/v1/rides?key=${late.key}`)).status).toBe(400);
    expect(await compromisedAt(late.id)).toBeNull();
    app.clock.advance(61_000);
    expect((await ask(`/v1/rides?key=${late.key}`)).status).toBe(400);
    expect(await compromisedAt(late.id)).not.toBeNull();
  });
});

describe("a database that is kept busy", () => {
  /** Keeps connections of the general pool in use until the test ends them. */
  function occupy(connections: number, text: string) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const taken: Promise<void>[] = [];
    const held = Array.from({ length: connections }, () =>
      app.db.transaction(async (tx) => {
        const ready = tx.run(text);
        taken.push(ready);
        await ready;
        await promise;
      }),
    );
    const release = async () => {
      resolve();
      await Promise.allSettled(held);
    };
    // Releases the connections even if the test fails, because the next test needs them.
    onTestFinished(release);
    return { taken: () => until(() => taken.length === connections).then(() => Promise.all(taken)), release };
  }

  it("by others still says that it is ready, looks up keys, and reads filtered lists", async () => {
    const { key } = await app.issue();
    const busy = occupy(10, "select 1");
    await busy.taken();
    // Does not check the number of waiters, because background work of the app may wait for a connection.
    expect(app.db.usage()).toMatchObject({ inUse: 10, idle: 0 });
    expect((await ask("/readyz")).status).toBe(200);
    for (const path of [
      "/v1/rides?status=completed",
      "/v1/rides",
      "/v1/reservations",
      "/v1/bikes?vehicle_state=available",
    ])
      expect([path, (await ask(path, key)).status]).toEqual([path, 200]);
    await busy.release();
  });

  it("by a partner's filtered lists answers those 503 with Retry-After in time, and everybody else as ever", async () => {
    const other = await createPartner(keyContext(app), app.systemId, "Another");
    const [heavy, light] = [await app.issue(), await app.issue({ partnerId: other.id })];
    const locked = occupy(1, "lock table rides in access exclusive mode");
    await locked.taken();
    const before = await counted(`bikeshare_filtered_reads_refused_total{reason="slow"}`);
    const slow = ask("/v1/rides?status=completed&page=2", heavy.key);
    const crowd = Array.from({ length: 12 }, () => ask("/v1/rides?status=completed", heavy.key));
    expect((await ask("/readyz")).status).toBe(200);
    expect((await ask("/v1/me", light.key)).status).toBe(200);
    expect((await ask("/v1/reservations", light.key)).status).toBe(200);
    const answers = await Promise.all([slow, ...crowd]);
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(new Set(answers.map(({ headers }) => headers.get("retry-after")))).toEqual(new Set(["1", "5"]));
    expect(texts.join("\n")).toMatch(/"unavailable".*Narrow them/);
    expect(texts.join("\n")).toMatch(/"unavailable".*Read one at a time/);
    expect(await counted(`bikeshare_filtered_reads_refused_total{reason="slow"}`)).toBeGreaterThan(before);
    await locked.release();
    expect((await ask("/v1/rides?status=completed", heavy.key)).status).toBe(200);
    // The service must not log a problem of the database, because the partner caused the wait.
    expect(service.logged.filter(({ msg }) => String(msg).includes("database"))).toEqual([]);
  });

  it("is asked for no rows where a page does not exist", async () => {
    const { key } = await app.issue();
    const answer = await ask("/v1/rides?status=completed&page=9007199254740991&limit=200", key);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: "page_out_of_range", message: expect.stringContaining("last page is 1") as string },
    ]);
  });
});
