import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { buildAnother, type BuiltApp, keyContext } from "../../test/built-app.ts";
import { type SignedIn, signIn } from "../../test/sign-in.ts";
import { until } from "../../test/until.ts";
import { type EndpointsHarness, openEndpointsHarness } from "../../test/webhooks/endpoints.harness.ts";
import { createMetrics } from "../health/metrics/registry.ts";
import { issueKey } from "../partners/keys/service.ts";
import { statement } from "../storage/db/statement.ts";
import { createFilteredReads } from "../storage/lists/read-context.ts";
import { deliveriesCsv } from "../webhooks/log/delivery-texts.ts";

let harness: EndpointsHarness;
let app: BuiltApp;
let viewer: SignedIn;
const metrics = createMetrics({ version: "1" });

beforeAll(async () => {
  harness = await openEndpointsHarness();
  app = await buildAnother(harness, { metrics: metrics.http });
  await harness.endpoint();
  await harness.happen(5);
});
afterAll(async () => {
  await app.close();
  await harness.close();
});
beforeEach(async () => {
  viewer = await signIn({ ...harness, url: app.url }, { partnerId: harness.partnerId, role: "viewer" });
});

const pathOf = (rest: string) => `/console/v1/systems/${harness.systemId}/partners/${harness.partnerId}/${rest}`;
const ask = (rest: string, signal: AbortSignal | null = null, by = viewer) =>
  fetch(app.url + pathOf(rest), { headers: by.headers, signal });
const reads = async (state: "running" | "waiting") =>
  Number(new RegExp(`^bikeshare_filtered_reads{state="${state}"} (\\d+)$`, "m").exec(await metrics.text())?.[1]);

const lockDeliveries = () => lock("webhook_deliveries");

/**
 * Locks a table, so that statements that read it wait.
 * @returns a function that releases the lock
 */
async function lock(table: string): Promise<() => Promise<void>> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const { promise: locked, resolve: onLocked } = Promise.withResolvers<void>();
  const held = harness.db.transaction(async (tx) => {
    await tx.query(statement("", `lock table ${table} in access exclusive mode`));
    onLocked();
    await promise;
  });
  const release = async () => {
    resolve();
    await held;
  };
  onTestFinished(release);
  await locked;
  return release;
}

/** @param word a word in the first kilobyte of the statement: pg_stat_activity shows no more */
const waitingFor = (word: string) =>
  statement(
    "",
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock' and query like '%${word}%'`,
  );

describe("a viewer who asks for all that takes long at once", () => {
  const long = [
    "deliveries?code=299",
    "deliveries?status=succeeded",
    "deliveries.csv?code=299",
    "overview",
    "webhook",
    "requests?status=4xx",
    "requests/minutes",
    "requests/days",
    "audit",
    "search?q=ride-1",
  ];

  it("has one statement in the database, and everybody else is answered", async () => {
    const other = await harness.partner("Other");
    const { key } = await issueKey(keyContext(harness), {
      ...{ systemId: harness.systemId, partnerId: other, rateLimit: null },
      scopes: ["stations:read"],
    });
    const release = await lockDeliveries();
    const readers = new AbortController();
    const asked = [1, 2, 3, 4].flatMap(() =>
      long.map((path) =>
        ask(path, readers.signal).then(
          ({ status }) => status,
          () => "gone",
        ),
      ),
    );
    await until(async () => (await reads("waiting")) > 20);
    expect(await reads("running")).toBe(1);
    const [statements] = await harness.db.query<{ n: number }>(waitingFor("webhook_deliveries"));
    expect(statements?.n).toBeLessThanOrEqual(1);
    // First the sessions of all requests are looked up on these connections. Then at most one page uses some.
    await until(() => harness.db.usage().inUse <= 3);
    const answer = await fetch(`${app.url}/v1/stations`, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
    // A client that disconnects leaves the queue at once, even before the database answers any request.
    readers.abort();
    await until(async () => (await reads("waiting")) === 0);
    await release();
    expect(new Set(await Promise.all(asked))).toContain("gone");
    await until(async () => (await reads("running")) === 0);
    expect((await ask("deliveries?code=299")).status).toBe(200);
  });

  it("is looked up by one statement for all that is asked at once", async () => {
    const release = await lock("sessions");
    const asked = Array.from({ length: 60 }, () => ask("people"));
    await until(async () => (await harness.db.query<{ n: number }>(waitingFor("needs_proof")))[0]?.n === 1);
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
    expect((await harness.db.query<{ n: number }>(waitingFor("needs_proof")))[0]?.n).toBe(1);
    await release();
    expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it("is told when to come back where too many wait already", async () => {
    const release = await lockDeliveries();
    const answers = Array.from({ length: 90 }, () => ask("deliveries?code=299"));
    const refused = await Promise.race(answers);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await reads("waiting")).toBe(80);
    await release();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
  });
});

it("a list of rides waits its turn as other pages do, where a program with as many requests would be refused", async () => {
  const operator = await signIn({ ...harness, url: app.url }, { partnerId: null, role: "viewer" });
  const release = await lock("rides");
  const rides = `${app.url}/console/v1/systems/${harness.systemId}/rides?status=completed`;
  const answers = Array.from({ length: 12 }, () => fetch(rides, { headers: operator.headers }));
  await until(async () => (await reads("waiting")) === 11);
  await release();
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([200]));
});

describe("the file of deliveries", () => {
  it("counts as twenty requests of its session, and is refused where fewer are left without counting", async () => {
    for (let file = 0; file < 29; file++) expect(await (await ask("deliveries.csv")).text()).toContain("ride.started");
    for (let page = 0; page < 2; page++) expect((await ask("deliveries?limit=1")).status).toBe(200);
    const refused = await ask("deliveries.csv");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    for (let page = 0; page < 18; page++) expect((await ask("deliveries?limit=1")).status).toBe(200);
    expect((await ask("deliveries?limit=1")).status).toBe(429);
  });

  it("costs a session that has used up its rate no look-up more than once a second", async () => {
    for (let page = 0; page < 600; page++) expect((await ask("people")).status).toBe(200);
    expect((await ask("people")).status).toBe(429);
    const release = await lock("sessions");
    // From here every look-up of a session waits.
    for (let page = 0; page < 5; page++) {
      const refused = await ask("people");
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    }
    harness.clock.advance(1_000);
    const looked = ask("people");
    await until(async () => (await harness.db.query<{ n: number }>(waitingFor("needs_proof")))[0]?.n === 1);
    await release();
    expect((await looked).status).toBe(429);
  });

  it("is read one at a time by a partner's people, and another may begin when its reader has gone", async () => {
    const release = await lockDeliveries();
    const reader = new AbortController();
    const first = ask("deliveries.csv", reader.signal).catch(() => undefined);
    await until(async () => (await reads("running")) === 1);
    const second = await ask("deliveries.csv");
    expect([second.status, await second.json()]).toMatchObject([429, { error: "rate_limited" }]);
    reader.abort();
    await first;
    await release();
    await until(async () => (await ask("deliveries.csv", null, await anotherViewer())).status === 200);
  });

  const anotherViewer = () => signIn({ ...harness, url: app.url }, { partnerId: harness.partnerId, role: "viewer" });
  const input = () => ({ systemId: harness.systemId, partnerId: harness.partnerId });

  it("says in its last record from when on deliveries were left out, and nothing where none were", async () => {
    const all = await linesOf(deliveriesCsv(harness, input()));
    expect(all).toHaveLength(6);
    const [, , third] = all.slice(1);
    const some = await linesOf(deliveriesCsv(harness, input(), { maxRows: 3 }));
    expect(some.slice(0, 4)).toEqual(all.slice(0, 4));
    expect(some.slice(4)).toEqual([
      `Incomplete: deliveries created before ${third?.split(",")[3]} were not looked at. Export them by a filter of time.`,
    ]);
    const fewPages = await linesOf(deliveriesCsv(harness, input(), { maxPages: 0 }));
    expect(fewPages.at(-1)).toMatch(/^Incomplete: /);
  });

  it("ends with that record where a page finds no place in time, and begins no statement for a reader who has gone", async () => {
    const filtered = createFilteredReads({
      ...{ primary: harness.db, maxRunning: 3, monotonic: () => performance.now(), maxWaitMs: 1 },
      run: (work) => work(harness.db),
      onRefused: () => undefined,
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = filtered.hold(input(), () => promise);
    const db = filtered.databaseFor(input());
    expect((await linesOf(deliveriesCsv({ ...harness, db }, input()))).slice(1)).toEqual([
      "Incomplete: deliveries were not looked at. Export them by a filter of time.",
    ]);
    resolve();
    await held;
    const gone = filtered.databaseFor({ ...input(), signal: AbortSignal.abort() });
    await expect(linesOf(deliveriesCsv({ ...harness, db: gone }, input()))).rejects.toThrow("connection was closed");
  });
});

async function linesOf(file: AsyncIterable<unknown>): Promise<string[]> {
  const parts: string[] = [];
  for await (const part of file) parts.push(String(part));
  return parts.join("").trimEnd().split("\r\n");
}
