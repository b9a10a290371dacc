import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { type Activity, type ActivityTracker, createActivityTracker } from "../src/health/tracing/activity.ts";
import { MAX_RUNNING_READS } from "../src/http/read-turns.ts";
import { createPartner } from "../src/partners/service.ts";
import { readCertificate } from "../src/runtime/startup/certificate.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp, keyContext } from "./built-app.ts";
import { makeCertificate } from "./servers/certificates.ts";
import { until } from "./until.ts";

/*
 * Tests that the service limits callers who try to exhaust it, and still answers others. docs/performance.md has the
 * figures.
 */

let app: TestApp;
const sockets: Socket[] = [];
const services: BuiltApp[] = [];

beforeAll(async () => {
  app = await startTestApp();
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const service of services.splice(0)) await service.close();
});
afterAll(() => app.close());

async function serve(...options: [Parameters<typeof buildAnother>[1]?, Parameters<typeof buildAnother>[2]?]) {
  const service = await buildAnother(app, ...options);
  services.push(service);
  return service;
}

/** Opens a connection from a local address. */
async function open(url: string, localAddress = "127.0.0.1"): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  socket.on("error", () => undefined);
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

const connectionsOf = ({ app: { http } }: BuiltApp) => promisify(http.server.getConnections.bind(http.server))();

it("slow heads and slow bodies are ended in time, each with an answer, and nobody else waits for them", async () => {
  const service = await serve({}, ({ http }) => {
    expect([http.server.headersTimeout, http.server.requestTimeout]).toEqual([15_000, 30_000]);
    http.server.headersTimeout = 500;
    http.server.requestTimeout = 1_000;
  });
  const { key } = await app.issue();
  const slow = await Promise.all(Array.from({ length: 60 }, () => open(service.url)));
  const received = slow.map((socket) => {
    const parts: string[] = [];
    socket.setEncoding("latin1").on("data", (part: string) => void parts.push(part));
    return parts;
  });
  const head = `POST /v1/reservations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
  slow.forEach((socket, n) =>
    socket.write(n % 2 === 0 ? "GET / HTTP/1.1\r\n" : `${head}Content-Length: 1000\r\n\r\n{`),
  );
  // Sends a byte from time to time, as attackers do to keep connections open.
  const trickle = setInterval(
    () => slow.forEach((socket, n) => void (socket.writable && socket.write(n % 2 === 0 ? "x" : " "))),
    50,
  );
  await until(async () => {
    expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
    return slow.every((socket) => socket.closed);
  });
  clearInterval(trickle);
  for (const parts of received) expect(parts.join("")).toMatch(/^HTTP\/1.1 400 [^]*took too long to arrive/);
});

it("a caller without a key is refused before the database is asked, whatever it asks for", async () => {
  let asked: string[] = [];
  let requests = new Set<Activity | undefined>();
  const tracker = createActivityTracker();
  // Statements without a request, such as those of the heartbeat, do not count.
  const activities: ActivityTracker = {
    ...tracker,
    begin(span) {
      const activity = tracker.begin(span);
      requests.add(activity);
      return activity;
    },
    statementSent(name) {
      if (requests.has(tracker.current())) asked.push(name);
      return tracker.statementSent(name);
    },
  };
  const db = openDatabase({ connectionString: app.db.connectionString, observer: activities });
  const counted = await buildAnother({ ...app, db }, { publicRateLimit: 50, activities, slowRequestMs: 3_600_000 });
  const close = async () => {
    await counted.close();
    await db.close();
  };
  services.push({ ...counted, close });
  const paths = [
    "/gbfs/3.0/station_status.json",
    "/console/v1/session",
    "/openapi.json",
    "/docs",
    "/gbfs/none/2.3/gbfs.json",
  ];
  for (let n = 0; n < 50; n++) await (await fetch(counted.url + paths[n % paths.length]!)).arrayBuffer();
  // Proves that the statements of all connections are observed.
  expect(asked).not.toEqual([]);
  [asked, requests] = [[], new Set()];
  for (let n = 0; n < 200; n++) {
    const response = await fetch(counted.url + paths[n % paths.length]!);
    expect(response.status).toBe(429);
    await response.arrayBuffer();
  }
  const closed = ["/v1/me", "/v1/rides?station_id=1", "/operator/v1/bikes", "/v1/nothing"];
  for (let n = 0; n < 100; n++) {
    const headers: Record<string, string> = n % 2 === 0 ? {} : { authorization: `Bearer no key ${n}` };
    const response = await fetch(counted.url + closed[n % closed.length]!, { headers });
    expect(response.status).toBe(401);
    await response.arrayBuffer();
  }
  expect([requests.size, asked]).toEqual([300, []]);
});

it("idle connections beyond the bound are closed as they come, from however many addresses, and cost little", async () => {
  const service = await serve({ maxConnections: 300 });
  const before = process.memoryUsage().rss;
  const addresses = Array.from({ length: 40 }, (_, n) => `127.0.1.${n + 1}`);
  await Promise.allSettled(Array.from({ length: 600 }, (_, n) => open(service.url, addresses[n % addresses.length])));
  await until(() => sockets.filter((socket) => socket.closed).length >= 300);
  expect(await connectionsOf(service)).toBe(300);
  // The limit includes both ends of the connections, because both are in this process.
  expect(process.memoryUsage().rss - before).toBeLessThan(600 * 256 * 1024);
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(async () => (await connectionsOf(service)) === 0);
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
});

it("a connection on which far too much is sent ahead is closed, and few of its requests are answered", async () => {
  let asked = 0;
  const service = await serve({}, ({ http }) => {
    http.get("/counted", () => {
      asked++;
      return "counted";
    });
  });
  const [socket, modest] = [await open(service.url), await open(service.url)];
  socket.pause();
  socket.write("GET /counted HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2_000));
  await until(() => socket.resume().closed);
  expect(asked).toBeLessThanOrEqual(100);
  let answers = 0;
  modest.setEncoding("latin1").on("data", (part: string) => (answers += part.split("HTTP/1.1 200").length - 1));
  modest.write("GET /counted HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50));
  await until(() => answers === 50);
});

it("reads that are sent ahead on a connection are made one by one, as their caller takes the answers", async () => {
  const answer = "a".repeat(8 * 1024 * 1024);
  let asked = 0;
  const service = await serve({}, ({ http }) => {
    http.get("/long", () => {
      asked++;
      return answer;
    });
  });
  const socket = await open(service.url);
  socket.pause();
  socket.write("GET /long HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20));
  await until(() => asked > 0);
  // The buffers of the operating system hold less than two of these responses.
  for (let n = 0; n < 20; n++) expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
  expect(asked).toBeLessThanOrEqual(2);
  let received = 0;
  socket.on("data", (part) => (received += part.length)).resume();
  await until(() => received > 20 * answer.length);
  expect(asked).toBe(20);
});

it("of one partner's reads few run at once, whatever its keys and connections; another's run beside them, and callers who left run none", async () => {
  let asked = 0;
  const gate = Promise.withResolvers<void>();
  const service = await serve({}, ({ http }) => {
    http.get("/v1/gated", async () => {
      asked++;
      await gate.promise;
      return "gated";
    });
  });
  const keys = await Promise.all([app.issue({ rateLimit: 100_000 }), app.issue({ rateLimit: 100_000 })]);
  const other = await app.issue({ partnerId: (await createPartner(keyContext(app), app.systemId, "Other")).id });
  const read = (method: string, key: string) =>
    `${method} /v1/gated HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  const hogs = await Promise.all(Array.from({ length: 60 }, () => open(service.url)));
  hogs.forEach((socket, n) => socket.pause().write(read(n % 3 === 0 ? "HEAD" : "GET", keys[n % 2]!.key).repeat(50)));
  await until(() => asked === MAX_RUNNING_READS);
  for (let n = 0; n < 20; n++) {
    const { status } = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${other.key}` } });
    expect(status).toBe(200);
  }
  expect(asked).toBe(MAX_RUNNING_READS);
  const connected = await connectionsOf(service);
  for (const socket of hogs.splice(10)) socket.destroy();
  await until(async () => (await connectionsOf(service)) <= connected - 50);
  gate.resolve();
  // Clients that stay get all their responses. For clients that have left, only requests that were already running are
  // completed.
  await until(() => asked >= 500);
  hogs.forEach((socket) => socket.resume());
  const mine = await fetch(`${service.url}/v1/me`, { headers: { authorization: `Bearer ${keys[0].key}` } });
  expect([mine.status, asked]).toEqual([
    200,
    expect.toSatisfy((n: number) => n >= 500 && n <= 500 + MAX_RUNNING_READS),
  ]);
});

it.each(["made at once", "kept"])(
  "reads whose answers are %s take turns too: between few of them the requests of others are read",
  async (which) => {
    let [together, most, asked] = [0, 0, 0];
    const count = () => {
      asked++;
      if (++together > 1) return;
      setImmediate(() => {
        most = Math.max(most, together);
        together = 0;
      });
    };
    const service = await serve({}, ({ http }) => {
      const answer = () => {
        count();
        return "ready";
      };
      const onRequest = (_: unknown, reply: { send(body: string): unknown }) => void reply.send(answer());
      http.get("/v1/ready", which === "kept" ? { onRequest } : {}, answer);
    });
    const { key } = await app.issue({ rateLimit: 100_000 });
    const get = `GET /v1/ready HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const hogs = await Promise.all(Array.from({ length: 30 }, () => open(service.url)));
    for (const socket of hogs) socket.pause().write(get.repeat(50));
    await until(() => asked === 1_500);
    // Twice the limit: the running reads, and as many that start in the same turn in which those end.
    expect(most).toBeLessThanOrEqual(2 * MAX_RUNNING_READS);
  },
);

it("heads and header lists have a bound, and an upgrade to HTTP/2 is none", async () => {
  const service = await serve();
  const ask = (headers: Record<string, string | string[]>) =>
    new Promise<number>((resolve, reject) => {
      const sent = request(`${service.url}/healthz`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", reject).end();
    });
  expect(await ask({ long: "a".repeat(17_000) })).toBe(400);
  expect(await ask(Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`x-${n}`, "a"])))).toBe(400);
  expect(
    await ask({ connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" }),
  ).toBe(200);
});

it("TLS of our own: no HTTP/2, nothing below 1.2, no renegotiation, and no handshake that lasts", async () => {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-tls-"));
  const files = { certFile: join(directory, "cert.pem"), keyFile: join(directory, "key.pem") };
  const { key, cert } = await makeCertificate("127.0.0.1");
  await writeFile(files.certFile, cert);
  await writeFile(files.keyFile, key);
  const service = await serve({ https: await readCertificate(files) });
  await rm(directory, { recursive: true });
  const { port } = new URL(service.url);
  const shake = async (options: object) => {
    const socket = connectTls({ host: "127.0.0.1", port: Number(port), rejectUnauthorized: false, ...options });
    sockets.push(socket);
    const { promise, resolve } = Promise.withResolvers<void>();
    // A refused connection emits an error.
    socket.on("error", () => resolve()).on("secureConnect", () => resolve());
    await promise;
    return socket;
  };
  const offered = await shake({ ALPNProtocols: ["h2", "http/1.1"] });
  expect([offered.alpnProtocol, offered.getProtocol()]).toEqual(["http/1.1", "TLSv1.3"]);
  expect((await shake({ maxVersion: "TLSv1.1", minVersion: "TLSv1", ciphers: "ALL:@SECLEVEL=0" })).authorized).toBe(
    false,
  );
  const older = await shake({ maxVersion: "TLSv1.2" });
  const refused = await new Promise((resolve) => {
    older.once("close", () => resolve("closed"));
    if (
      !older.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null ? "renegotiated" : "refused"))
    )
      resolve("refused");
  });
  expect(refused).not.toBe("renegotiated");
  // Connections that never send a byte count too, and are closed.
  const silent = await Promise.all(Array.from({ length: 20 }, () => open(service.url)));
  await until(async () => (await connectionsOf(service)) >= 20);
  await until(() => silent.every((socket) => socket.closed));
});
