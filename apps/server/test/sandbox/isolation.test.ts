import { deliveryNames, scopeNames } from "@bikeshare/contract";
import { scenarioNames } from "@bikeshare/contract/sandbox";
import { ServiceError } from "@bikeshare/rules";
import { createRandom } from "@bikeshare/simulator";
import { randomRuns } from "@bikeshare/test-kit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSequencer } from "../../src/events/sequencer.ts";
import { createMetrics } from "../../src/health/metrics/registry.ts";
import { NetworkList } from "../../src/outbound/addresses/address-guard.ts";
import { issueKey } from "../../src/partners/keys/service.ts";
import { createPartner } from "../../src/partners/service.ts";
import { rideOnce } from "../../src/sandbox/riding.ts";
import { createSandbox } from "../../src/sandbox/service.ts";
import { removeEndpoint } from "../../src/webhooks/endpoints/endpoint-removal.ts";
import { setEndpoint } from "../../src/webhooks/endpoints/endpoint-settings.ts";
import { createSecretCipher } from "../../src/webhooks/endpoints/secret.ts";
import { secrets, startTestApp, type TestApp } from "../app.ts";
import { type BuiltApp, buildAnother, keyContext } from "../built-app.ts";
import { guarded, sampleId } from "../endpoints.ts";
import { message } from "../mcp/mcp.harness.ts";
import { fillWorld } from "../walker-world.ts";

const OPERATIONS = randomRuns(400);
/** Concurrent operations. */
const AT_ONCE = 10;

let app: TestApp;
let process: BuiltApp;
let key: string;
/** The system id of the used sandbox. */
let systemId: string;
const metrics = createMetrics({ version: "1" });

/** A cursor of a list of live data, and the id of a live event. */
let live: { readonly cursor: string; readonly eventId: string };

beforeAll(async () => {
  app = await startTestApp();
  const context = keyContext(app);
  // Uses the live key in another process, which writes the usage of the key when it ends. So no later write changes rows of
  // others.
  const before = await buildAnother(app);
  const { key: liveKey } = await app.issue();
  const get: TestApp["get"] = (path) => fetch(before.url + path, { headers: { authorization: `Bearer ${liveKey}` } });
  await fillWorld({ ...app, get });
  const events = (await (await get("/v1/events")).json()) as { data: { id: string }[] };
  const { next_cursor } = (await (await get("/v1/rides?limit=1")).json()) as { next_cursor: string };
  live = { cursor: next_cursor, eventId: events.data[0]?.id ?? "" };
  await before.close();
  const neighbour = await createPartner(context, app.systemId, "Neighbour");
  await createSandbox(context, { systemId: app.systemId, partnerId: neighbour.id });
  const { sandbox } = await createSandbox(context, { systemId: app.systemId, partnerId: app.partnerId });
  systemId = sandbox.system_id;
  ({ key } = await issueKey(context, { systemId, partnerId: app.partnerId, scopes: scopeNames, rateLimit: 1_000_000 }));
  process = await buildAnother(app, { metrics: metrics.http });
});
afterAll(async () => {
  await process.close();
  await app.close();
});

/** Returns every row of every table that does not belong to the used sandbox, as text. */
async function rowsOfOthers(): Promise<string[]> {
  const tables = await app.db.query<{ name: string; has_system: boolean }>(
    {
      name: "",
      text: `select relname::text as name, exists (
          select from pg_attribute where attrelid = pg_class.oid and attname = 'system_id' and not attisdropped) as has_system
        from pg_class where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
        order by 1`,
    },
    [],
  );
  expect(tables.length).toBeGreaterThan(50);
  const rows: string[] = [];
  for (const { name, has_system } of tables) {
    const where = has_system ? "where system_id <> $1" : "where $1 <> ''";
    const text = `select t::text as row from ${name} t ${where} order by 1`;
    for (const { row } of await app.db.query<{ row: string }>({ name: "", text }, [systemId]))
      rows.push(`${name}: ${row}`);
  }
  return rows;
}

/** Returns the metrics of requests, webhooks and mails, without those that are 0. */
const counted = async () =>
  (await metrics.text())
    .split("\n")
    .filter((line) => /^bikeshare_(http_request|webhook|mail)/.test(line) && !line.endsWith(" 0"));

/** Sends a request with the sandbox's key, and reads the response to its end. */
async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fetch(process.url + path, {
    method,
    headers: {
      ...{ authorization: `Bearer ${key}`, "idempotency-key": "the same for all" },
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  expect(response.status).toBeLessThan(600);
  return response.text();
}

/** Returns the operations to choose from. Half of them are on ids of the sandbox, half on live ids. */
function operations(): readonly ((n: number) => Promise<unknown>)[] {
  const context = keyContext(app);
  const settings = {
    ...context,
    rules: { allowNetworks: new NetworkList([]), allowPorts: [{ from: 443, to: 443 }] },
    cipher: createSecretCipher(() => secrets.webhookKeys),
  };
  const partner = { systemId, partnerId: app.partnerId };
  const onError = (error: unknown) => expect.unreachable(String(error));
  const sequencer = createSequencer({ db: app.db, clock: app.clock, pollIntervalMs: 0, onError });
  const sandbox = (path: string, body: unknown) => send("POST", `/sandbox/v1${path}`, body);
  const own = [
    ...deliveryNames.map((name) => () => sandbox(`/events/${name}`, {})),
    ...scenarioNames.map((name) => () => sandbox(`/scenarios/${name}`, {})),
    (n: number) => sandbox("/reset", { seed: n }),
    (n: number) => sandbox("/clock/advance", { seconds: (n * 997) % 604_800 }),
    (n: number) => sandbox("/faults", { status: [429, 500, 503][n % 3], count: 1 }),
    () => send("DELETE", "/sandbox/v1/faults"),
    (n: number) => sandbox("/webhooks/faults", { delay: n % 3, duplicate: n % 2 === 0, down: n % 5 === 0 }),
    () => rideOnce(context, systemId),
    () => sequencer.runOnce(systemId),
    (n: number) => setEndpoint(settings, { ...partner, url: `https://p.example/${n}`, events: ["ride.*"] }),
    // Ignores the error if no endpoint exists.
    () => removeEndpoint(settings, partner).catch((error: unknown) => expect(error).toBeInstanceOf(ServiceError)),
  ];
  const foreign = [
    ...guarded
      .filter(({ scope }) => scope !== "operator")
      .map(
        ({ method, path, query, body }) =>
          () =>
            send(method, path + query, body),
      ),
    () => send("GET", `/v1/rides?cursor=${live.cursor}`),
    () => send("GET", `/v1/events?after=${live.eventId}`),
    ...["get_delivery", "resend_delivery", "cancel_reservation", "get_ride"].map(
      (name) => () =>
        send("POST", "/mcp", message("tools/call", { name, arguments: { id: sampleId } }), {
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": name,
        }),
    ),
  ];
  return [...own, ...foreign];
}

it("random operations in a sandbox, half of them on live ids, change no byte of another system and no metric", async () => {
  const choices = operations();
  const random = createRandom(1);
  const [rows, numbers] = [await rowsOfOthers(), await counted()];
  for (let done = 0; done < OPERATIONS; done += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, n) => choices[Math.floor(random.next() * choices.length)]?.(done + n)),
    );
  expect(await rowsOfOthers()).toEqual(rows);
  expect(await counted()).toEqual(numbers);
  // The operations have changed the sandbox a lot.
  const own = { name: "", text: "select count(*)::int as n from events where system_id = $1" };
  expect((await app.db.query<{ n: number }>(own, [systemId]))[0]?.n).toBeGreaterThan(100);
}, 300_000);
