import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "../../../test/app.ts";
import { buildAnother, type BuiltApp, keyContext } from "../../../test/built-app.ts";
import { createTestDatabase } from "../../../test/database.ts";
import { dailyTables } from "../../storage/partitions/partition.rules.ts";
import { emptyDefault } from "../../storage/partitions/service.ts";
import { revokeKey } from "../keys/service.ts";
import {
  callersOf,
  type LogPosition,
  openRequestLog,
  type RequestLog,
  requestWithId,
  searchRequests,
  startUsageSweeper,
  usageByDay,
  usageByMinute,
} from "./service.ts";
import type { LoggedRequest } from "./usage.rules.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const noErrors = {
  onError: (error: unknown) => {
    throw error;
  },
};

/** A log on the test's database, without the service around it. */
function openLog(unlogged: number[] = []): RequestLog {
  return openRequestLog({ db: app.db, onUnlogged: (count) => unlogged.push(count), ...noErrors });
}

let made = 0;
function request(keyId: string, more: Partial<LoggedRequest> = {}): LoggedRequest {
  made++;
  return {
    ...{ systemId: app.systemId, id: app.ids.next("req"), at: app.clock() + made, keyId, partnerId: null },
    ...{ method: "GET", route: "/v1/rides", status: 200, error: null, ms: 1.5, address: "192.0.2.1" },
    ...more,
  };
}

const today = Date.parse("2026-06-01T12:00:00Z");
const DAY_MS = 86_400_000;
const always = { since: new Date(today - 2 * DAY_MS), until: new Date(today + 2 * DAY_MS) };

describe("the request log of a service", () => {
  let other: BuiltApp;
  beforeAll(async () => {
    other = await buildAnother(app);
  });

  it("has each request that carried a key of ours, however it ended, and none without", async () => {
    const { key, id } = await app.issue({ scopes: ["rides:read"], rateLimit: 4 });
    const ask = (path: string, bearer = key) =>
      fetch(`${other.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
    const answers = [await ask("/v1/rides?limit=1"), await ask("/v1/stations"), await ask("/v1/rides/no-such-ride")];
    answers.push(await ask("/v1/no/such/path?secret=x"));
    const headers = { authorization: `Bearer ${key}` };
    answers.push(
      await fetch(`${other.url}/v1/rides/ride-1`, { method: "DELETE", headers }),
      await ask("/v1/rides"),
      await ask("/v1/rides"),
    );
    await ask("/v1/rides", "bss_live_unknown");
    await fetch(`${other.url}/v1/rides`);
    const revoked = await app.issue({ scopes: ["rides:read"] });
    await revokeKey(keyContext(app), app.systemId, revoked.id);
    const refused = await ask("/v1/rides", revoked.key);
    await other.close();
    const logged = async (keyId: string) => {
      const { requests } = await searchRequests(app, app.systemId, { keyId, limit: 50, ...always });
      return requests.toReversed();
    };
    const requests = await logged(id);
    expect(requests.map(({ route, status, error }) => [route, status, error])).toEqual([
      ["/v1/rides", 200, null],
      ["/v1/stations", 403, "forbidden"],
      ["/v1/rides/:id", 404, "not_found"],
      ["(no such path)", 404, "not_found"],
      ["/v1/rides/:id", 405, "method_not_allowed"],
      ["/v1/rides", 429, "rate_limited"],
      ["/v1/rides", 429, "rate_limited"],
    ]);
    expect(await logged(revoked.id)).toMatchObject([
      { id: refused.headers.get("request-id"), route: "/v1/rides", status: 401, error: "unauthorized" },
    ]);
    const first = answers[0]?.headers.get("request-id") ?? "";
    expect(await requestWithId(app, app.systemId, first)).toMatchObject({
      ...{ id: first, key_id: id, partner_id: app.partnerId, method: "GET", route: "/v1/rides", address: "127.0.0.1" },
    });
    expect(JSON.stringify(requests)).not.toContain("secret");
    expect(await requestWithId(app, "another", first)).toBeUndefined();
  });
});

describe("under overload", () => {
  it("leaves out what is above its bound, counts it exactly, and has room for keys that call seldom", async () => {
    const unlogged: number[] = [];
    const log = openLog(unlogged);
    for (let n = 0; n < 5_000; n++) log.record(request("key_busy"));
    for (let n = 0; n < 5; n++) log.record(request("key_quiet", { status: 503, error: "unavailable" }));
    await log.close();
    const logged = async (keyId: string) =>
      (await searchRequests(app, app.systemId, { keyId, limit: 10_000, ...always })).requests.length;
    expect([await logged("key_busy"), await logged("key_quiet")]).toEqual([250, 5]);
    expect(unlogged).toEqual([4_750]);
    const sum = async (keyId: string) => {
      const rows = await usageByMinute(app, app.systemId, { partnerId: null, keyId, ...always });
      const total = (name: "requests" | "unlogged" | "server_errors") => rows.reduce((all, row) => all + row[name], 0);
      return [total("requests"), total("unlogged"), total("server_errors")];
    };
    expect(await sum("key_busy")).toEqual([5_000, 4_750, 0]);
    expect(await sum("key_quiet")).toEqual([5, 0, 5]);
  });

  it("counts what several processes write of one key together", async () => {
    const logs = [openLog(), openLog(), openLog()];
    const at = app.clock();
    for (const log of logs) for (let n = 0; n < 40; n++) log.record(request("key_shared", { at, ms: 2 }));
    await Promise.all(logs.map((log) => log.close()));
    const range = { partnerId: null, keyId: "key_shared", ...always };
    expect(await usageByMinute(app, app.systemId, range)).toMatchObject([{ requests: 120 }]);
    expect(await usageByDay(app, app.systemId, range)).toMatchObject([
      { route: "GET /v1/rides", requests: 120, total_ms: 240 },
    ]);
    expect(await callersOf(app, app.systemId, ["GET /v1/rides", "GET /v1/never"], 30)).toContainEqual(
      expect.objectContaining({ key_id: "key_shared", requests: 120 }),
    );
  });

  it("reports a write that failed, and goes on", async () => {
    const errors: unknown[] = [];
    const unlogged: number[] = [];
    const log = openRequestLog({
      db: app.db,
      onUnlogged: (n) => unlogged.push(n),
      onError: (error) => errors.push(error),
    });
    log.record(request("key_failed", { address: "a zero byte \0 that no text may have" }));
    await log.flush();
    expect([errors.length, unlogged]).toEqual([1, [1]]);
    log.record(request("key_failed"));
    await log.close();
    const { requests } = await searchRequests(app, app.systemId, { keyId: "key_failed", limit: 5, ...always });
    expect(requests).toHaveLength(1);
  });
});

describe("what is old", () => {
  it("is dropped by the day: the log and the minutes after 7 days, the days after 400", async () => {
    const systemId = "main";
    const database = await createTestDatabase();
    const { db } = database;
    const ages = [0, 7, 8, 400, 401];
    const log = openRequestLog({ db, onUnlogged: () => undefined, ...noErrors });
    for (const age of ages) log.record(request("key_old", { systemId, at: today - age * DAY_MS }));
    await log.close();
    const context = { db, clock: () => today, warn: () => undefined };
    // Each call of `emptyDefault` deletes only the oldest past day, so it is called once for each age.
    for (const table of ages.flatMap(() => dailyTables)) if (table.hasDefault) await emptyDefault(context, table);
    const sweeper = startUsageSweeper({ ...context, systems: () => Promise.resolve([systemId]), ...noErrors });
    await sweeper.runOnce();
    await sweeper.close();
    const range = { partnerId: null, keyId: "key_old", since: new Date(0), until: new Date(today + DAY_MS) };
    const { requests } = await searchRequests({ ...context, db }, systemId, {
      keyId: "key_old",
      limit: 9,
      since: new Date(0),
    });
    expect(requests.map(({ at }) => (today - at.getTime()) / DAY_MS)).toEqual([0, 7]);
    const days = await usageByDay({ db }, systemId, range);
    expect(days.map(({ day }) => (Date.parse("2026-06-01") - Date.parse(day)) / DAY_MS)).toEqual([400, 8, 7, 0]);
    await database.close();
  });
});

describe("the search", () => {
  const all: LoggedRequest[] = [];
  beforeAll(async () => {
    const log = openLog();
    for (let n = 0; n < 300; n++) {
      const isError = n % 7 === 0;
      all.push(
        request(`key_${n % 3}`, {
          ...{
            systemId: "searched",
            partnerId: n % 3 === 0 ? "partner_b" : "partner_a",
            route: n % 5 === 0 ? "/v1/bikes" : "/v1/rides",
          },
          ...{ method: n % 11 === 0 ? "HEAD" : "GET", status: isError ? [400, 404, 500][n % 3] : 200 },
          error: isError ? ["invalid_parameter", "not_found", "internal"][n % 3] : null,
        } as Partial<LoggedRequest>),
      );
    }
    for (const [n, each] of all.entries()) {
      log.record(each);
      // Flushes before there are more requests than one write takes.
      if (n % 100 === 99) await log.flush();
    }
    await log.close();
  });

  const optional = <Value>(...values: Value[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
  const searches = fc.record({
    partnerId: optional("partner_a", "partner_b"),
    keyId: optional("key_0", "key_1", "key_2", "key_none"),
    statuses: optional([200, 299] as const, [400, 499] as const, [404, 404] as const, [500, 599] as const),
    error: optional("not_found", "internal"),
    method: optional("GET", "HEAD"),
    route: optional("/v1/bikes", "/v1/rides"),
    limit: fc.integer({ min: 1, max: 60 }),
    scanLimit: fc.integer({ min: 20, max: 400 }),
  });

  it("finds, page by page, what filtering every request finds, however little a page may look at", async () => {
    await fc.assert(
      fc.asyncProperty(searches, async ({ statuses, ...search }) => {
        const [statusFrom, statusTo] = statuses ?? [100, 599];
        const found: string[] = [];
        let after: LogPosition | undefined;
        do {
          const page = await searchRequests(app, "searched", { ...search, statusFrom, statusTo, after, ...always });
          expect(page.requests.length).toBeLessThanOrEqual(search.limit);
          found.push(...page.requests.map(({ id }) => id));
          after = page.next ?? undefined;
        } while (after !== undefined);
        const { partnerId, keyId, error, method, route } = search;
        const isWanted = (wanted: string | undefined, is: string | null) => wanted === undefined || wanted === is;
        const expected = all.filter(
          (each) =>
            isWanted(partnerId, each.partnerId) &&
            isWanted(keyId, each.keyId) &&
            isWanted(error, each.error) &&
            isWanted(method, each.method) &&
            isWanted(route, each.route) &&
            each.status >= statusFrom &&
            each.status <= statusTo,
        );
        expect(found).toEqual(expected.toReversed().map(({ id }) => id));
      }),
      { numRuns: 60 },
    );
  });
});
