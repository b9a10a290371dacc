import { connect } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MAX_CALLS_OF_OWNER } from "../src/http/idempotency.ts";
import { stopAnswering } from "../src/http/stopping.ts";
import type { Transaction } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { until } from "./until.ts";

/*
 * Tests requests that share transactions: what happens to waiting requests when the service stops, and to too many requests.
 */

let app: TestApp;
/** The service under test. Each test has a separate one. */
let busy: BuiltApp;
let key: string;
/** The statuses of its responses to commands, in order. */
let answered: number[];

beforeEach(async () => {
  app = await startTestApp();
  answered = [];
  busy = await buildAnother(app, {}, ({ http }) => {
    http.addHook("onSend", (request, reply, _payload, done) => {
      if (request.method === "POST") answered.push(reply.statusCode);
      done();
    });
  });
  key = (await app.issue({ partnerId: null, scopes: [] })).key;
});

afterEach(async () => {
  await busy.close();
  await app.close();
});

const post = (path: string, items: readonly object[], idempotencyKey = "") =>
  fetch(`${busy.url}/operator/v1/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(idempotencyKey === "" ? {} : { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify({ items }),
  });

/** Makes every command wait for a lock until `work` has ended. */
const whileBikesAreLocked = (work: () => Promise<void>) =>
  app.db.transaction(async (tx: Transaction) => {
    await tx.run("lock table bikes in access exclusive mode");
    await work();
  });

const rows = (text: string) => app.db.query(statement("", text), [app.systemId]);

test("a stop does every command that waits, whole and once, and answers it", async () => {
  const bikes = Array.from({ length: 40 }, (_, n) => `bike-${n}`);
  expect(
    (
      await post(
        "bikes",
        bikes.map((id) => ({ id })),
      )
    ).status,
  ).toBe(200);
  let starts: Promise<Response>[] = [];
  let stopping: Promise<void> | undefined;
  let hasStopped = false;
  let begun = 0;
  busy.app.http.server.on("request", () => begun++);
  await whileBikesAreLocked(async () => {
    starts = bikes.map((bike, n) => post("rides/start", [{ id: `ride-${n}`, bike_id: bike }], `key-${n}`));
    await until(() => Promise.resolve(begun === bikes.length));
    const bounds = { idleMs: 1, requestsMs: 60_000 };
    stopping = stopAnswering({ ...busy.app, ...bounds, delay: () => Promise.resolve() }).then(
      () => void (hasStopped = true),
    );
    await until(async () =>
      fetch(`${busy.url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
    expect([hasStopped, answered.slice(1)]).toEqual([false, []]);
  });
  for (const response of await Promise.all(starts)) {
    expect([response.status, await response.json()]).toMatchObject([200, { failed: 0 }]);
  }
  await stopping;
  const inOrder = bikes.toSorted();
  expect(await rows("select id from bikes where system_id = $1 and vehicle_state = 'on_trip' order by id")).toEqual(
    inOrder.map((id) => ({ id })),
  );
  expect(await rows("select bike_id as id from rides where system_id = $1 order by bike_id")).toEqual(
    inOrder.map((id) => ({ id })),
  );
  expect(await rows("select count(*) as n from event_outbox where system_id = $1 and name = 'ride.started'")).toEqual([
    { n: bikes.length },
  ]);
  expect(await rows("select count(*) as n from idempotency_keys where system_id = $1 and status = 200")).toEqual([
    { n: bikes.length },
  ]);
});

test("a request that was answered before has no second effect where it shares a transaction with new ones", async () => {
  const station = { id: "station", name: "Station", lat: 1, lon: 1, capacity: 20 };
  const bikes = Array.from({ length: 10 }, (_, n) => ({ id: `bike-${n}`, station_id: station.id }));
  expect((await post("stations", [station])).status).toBe(200);
  expect((await post("bikes", bikes)).status).toBe(200);
  const partnerKey = (await app.issue()).key;
  const reserve = async (idempotencyKey: string) => {
    const headers = {
      authorization: `Bearer ${partnerKey}`,
      "content-type": "application/json",
      "idempotency-key": idempotencyKey,
    };
    const body = JSON.stringify({ station_id: station.id });
    const response = await fetch(`${busy.url}/v1/reservations`, { method: "POST", headers, body });
    const { id } = (await response.json()) as { id: string };
    return { status: response.status, replayed: response.headers.get("idempotent-replayed"), id };
  };
  const first = await reserve("a");
  let together: ReturnType<typeof reserve>[] = [];
  let begun = 0;
  busy.app.http.server.on("request", () => begun++);
  await whileBikesAreLocked(async () => {
    together = ["b", "a", "c", "a", "d"].map(reserve);
    await until(() => begun === together.length);
  });
  const [b, again, c, andAgain, d] = await Promise.all(together);
  expect([again, andAgain]).toEqual([
    { ...first, replayed: "true" },
    { ...first, replayed: "true" },
  ]);
  expect([b, c, d]).toMatchObject(Array.from({ length: 3 }, () => ({ status: 201, replayed: null })));
  expect(await rows("select count(*) as n from reservations where system_id = $1")).toEqual([{ n: 4 }]);
  expect(await rows("select count(*) as n from bikes where system_id = $1 and vehicle_state = 'reserved'")).toEqual([
    { n: 4 },
  ]);
});

/** Enough connections that each pipelines fewer requests than allowed. */
const CONNECTIONS = 20;

/** Pipelines requests on one connection, without waiting for responses. @returns the responses */
async function sendPipelined(requests: readonly string[]): Promise<string[]> {
  const { port } = new URL(busy.url);
  const socket = connect(Number(port), "127.0.0.1").setEncoding("latin1");
  let received = "";
  socket.on("data", (part: string) => (received += part));
  socket.write(requests.join(""));
  const answers = () => received.split(/(?=HTTP\/1\.1 )/).filter((text) => text.includes("}"));
  await until(() => Promise.resolve(answers().length === requests.length));
  socket.destroy();
  return answers();
}

test("commands of a key beyond its bound get 503 with Retry-After; those before it are done", async () => {
  const body = JSON.stringify({ items: [{ id: "ride", bike_id: "unknown" }] });
  const head = `POST /operator/v1/rides/start HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n`;
  const request = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const perConnection = MAX_CALLS_OF_OWNER / CONNECTIONS + 1;
  let answers: Promise<string[]>[] = [];
  await whileBikesAreLocked(async () => {
    answers = Array.from({ length: CONNECTIONS }, () =>
      sendPipelined(Array.from({ length: perConnection }, () => request)),
    );
    await until(() => Promise.resolve(answered.length === CONNECTIONS));
  });
  const all = (await Promise.all(answers)).flat();
  const refused = all.filter((answer) => answer.startsWith("HTTP/1.1 503 "));
  expect(refused).toHaveLength(CONNECTIONS);
  for (const answer of refused) {
    expect(answer).toMatch(/^retry-after: 1\r$/im);
    expect(answer).toMatch(/\r\n\r\n\{"error":"unavailable","message":"[^"]+"\}/);
  }
  expect(all.filter((answer) => answer.startsWith("HTTP/1.1 200 "))).toHaveLength(MAX_CALLS_OF_OWNER);
});
