import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { promisify } from "node:util";
import { errorBody } from "@bikeshare/contract";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestApp, type TestApp } from "./app.ts";
import { buildAnother, type BuiltApp } from "./built-app.ts";
import { bikeRow, rowWriter, stationRow } from "./rows.ts";
import { until } from "./until.ts";

let app: TestApp;
let key: string;
const sockets: Socket[] = [];

beforeAll(async () => {
  app = await startTestApp();
  await rowWriter(app).stations([stationRow({ id: "a" })]);
  await rowWriter(app).bikes(Array.from({ length: 5 }, (_, n) => bikeRow({ id: `b${n}`, station_id: "a" })));
  key = (await app.issue()).key;
});

beforeEach(() => app.clock.advance(61_000));

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

afterAll(() => app.close());

async function open(url = app.url): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  await once(socket, "connect");
  return socket;
}

/** Returns everything that a server sends until it closes the connection. */
async function readAll(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => (text += part));
  socket.resume();
  await once(socket, "end");
  return text;
}

async function exchange(request: string): Promise<string> {
  const socket = await open();
  socket.write(request, "latin1");
  return readAll(socket);
}

const openConnections = ({ app: { http } }: BuiltApp) => promisify(http.server.getConnections.bind(http.server))();

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status));
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
const post = (body: string, more = "") =>
  `POST /v1/reservations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const active = async (rider: string) => {
  const list = (await (await app.get(`/v1/reservations?rider_ref=${rider}&status=active`)).json()) as {
    data: unknown[];
  };
  return list.data.length;
};

describe("an answer that is owed goes out before the error of what comes behind it", () => {
  it("of a command that was carried out", async () => {
    const text = await exchange(`${post('{"station_id":"a","rider_ref":"garbage"}')}GARBAGE\r\n\r\n`);
    expect(statuses(text)).toEqual([201, 400]);
    expect(text).toMatch(/"rider_ref":"garbage"[^]*Connection: close[^]*"The request is not valid HTTP\."\}$/);
    expect(await active("garbage")).toBe(1);
  });

  it("of each request of a pipeline, in order; nothing behind the error is read", async () => {
    const text = await exchange(`${get("/v1/stations/a")}${get("/v1/bikes/b0")}GARBAGE\r\n\r\n${get("/v1/me")}`);
    expect(statuses(text)).toEqual([200, 200, 400]);
    expect(text.indexOf('"id":"a"')).toBeLessThan(text.indexOf('"id":"b0"'));
  });

  it("of the request in front, when a body is broken: that one is answered 400 and not carried out", async () => {
    const chunked = post("", "Transfer-Encoding: chunked\r\n").replace("Content-Length: 0\r\n", "");
    const text = await exchange(`${get("/v1/me")}${chunked}zz\r\n{"station_id":"a","rider_ref":"chunk"}\r\n0\r\n\r\n`);
    expect(statuses(text)).toEqual([200, 400]);
    expect(await active("chunk")).toBe(0);
  });

  it("and what was answered before its body was broken is not answered twice", async () => {
    const socket = await open();
    const answer = readAll(socket);
    const head = "POST /v1/reservations HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    socket.write(head);
    await once(socket, "data");
    socket.write("zz\r\n");
    expect(statuses(await answer)).toEqual([401]);
  });
});

describe("a request that is not HTTP", () => {
  it.each([
    "HEAD /v1/st\xe9 HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /v1/a b HTTP/1.1\r\nHost: a\r\n\r\n",
    "HEAD /v1/a HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
  ])("is answered without a body where it is a HEAD: %j", async (request) => {
    const text = await exchange(request);
    expect(statuses(text)).toEqual([400]);
    expect(text).toMatch(/Content-Length: [1-9]\d*\r\n/);
    expect(text.endsWith("\r\n\r\n")).toBe(true);
  });

  it("is answered with the body of every error where it is none", async () => {
    for (const request of [
      "GET /v1/st\xe9 HTTP/1.1\r\nHost: a\r\n\r\n",
      "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    ]) {
      const text = await exchange(request);
      expect(statuses(text)).toEqual([400]);
      const [, body = ""] = text.split("\r\n\r\n");
      expect(errorBody.strict().parse(JSON.parse(body)).error).toBe("invalid_request");
    }
  });
});

describe("the 413 of a body that is too large is read by its sender", () => {
  const size = 8 * 1024 * 1024;
  const head = (more: string) =>
    `POST /v1/reservations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`;

  it.each([
    ["by its length", `Content-Length: ${size}`, ""],
    ["in chunks", "Transfer-Encoding: chunked", `${size.toString(16)}\r\n`],
  ])("who sends the whole of it first: %s", async (_what, framing, before) => {
    const socket = await open();
    const failures: unknown[] = [];
    socket.on("error", (error) => failures.push(error));
    // Reads nothing until everything is sent, as simple clients do.
    socket.pause();
    socket.write(head(framing) + before);
    const block = Buffer.alloc(64 * 1024, " ");
    for (let sent = 0; sent < size; sent += block.length) {
      if (!socket.write(block)) await once(socket, "drain");
    }
    if (before !== "") socket.write("\r\n0\r\n\r\n");
    const text = await readAll(socket);
    expect(failures).toEqual([]);
    expect(statuses(text)).toEqual([413]);
    expect(text).toMatch(/^connection: close\r$/im);
    expect(text).toMatch(/"payload_too_large"[^]*\}$/);
  });

  it("and what comes behind the body is not carried out, because nobody would get its answer", async () => {
    const socket = await open();
    socket.on("error", () => undefined);
    const answer = readAll(socket);
    socket.write(head(`Content-Length: ${2 * 1024 * 1024}`));
    await once(socket, "data");
    socket.write(Buffer.alloc(2 * 1024 * 1024, " "));
    socket.write(post('{"station_id":"a","rider_ref":"behind"}'));
    expect(statuses(await answer)).toEqual([413]);
    // The server closes the connection, although the client leaves it open.
    if (!socket.closed) await once(socket, "close");
    expect(await active("behind")).toBe(0);
  });
});

it("a connection is not cut off while its answer is made, however long that takes", async () => {
  const other = await buildAnother(app, {}, ({ http }) => {
    http.get("/slow", async ({ raw: { socket } }) => {
      // As if the server's timeout had passed since the request arrived.
      socket.setTimeout(20);
      await once(socket, "timeout");
      socket.setTimeout(http.server.timeout);
      return "made";
    });
  });
  const response = await fetch(`${other.url}/slow`);
  expect(await response.text()).toBe("made");
  await other.close();
});

describe("a caller that does not read", () => {
  const size = 32 * 1024 * 1024;

  it("is let go when nothing has moved for the time set, whatever the answer; one who reads slowly is not", async () => {
    const shared = Buffer.alloc(size, "x");
    const other = await buildAnother(app, {}, ({ http }) => {
      expect(http.server.timeout).toBe(30_000);
      // Too low: on a machine that stalls for this long, the connection of a slow reader is closed.
      http.server.setTimeout(2_000);
      http.get("/large", () => shared);
    });
    const request = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
    const stalled = await open(other.url);
    stalled.on("error", () => undefined).pause();
    const slow = await open(other.url);
    let received = 0;
    slow.pause().on("data", (part: Buffer) => {
      received += part.length;
      if (received % 16 !== 0) return;
      slow.pause();
      setImmediate(() => slow.resume());
    });
    const count = () => openConnections(other);
    expect(await count()).toBe(2);
    stalled.write(request);
    slow.write(request);
    slow.resume();
    while (received < size) await once(slow, "data");
    await until(async () => (await count()) === 1);
    expect(slow.destroyed).toBe(false);
    await other.close();
  });
});
