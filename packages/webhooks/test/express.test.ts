import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { connect } from "node:net";
import type { AddressInfo } from "node:net";
import express from "express";
import type { ErrorRequestHandler, Express, RequestHandler } from "express";
import { afterEach, describe, expect, it } from "vitest";
import { createReceiver } from "../src/express.ts";
import { signedRequest, TEST_SECRET } from "../src/testing.ts";
import { sendTo } from "./loopback.ts";
import { describeReceiver } from "./receiver-cases.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function listen(app: RequestListener): Promise<number> {
  const server = createServer(app);
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

/** Starts an application whose error handler collects the errors instead of printing them. */
async function start(build: (app: Express) => void) {
  const app = express();
  build(app);
  const reported: unknown[] = [];
  const report: ErrorRequestHandler = (error: unknown, _request, response, _next) => {
    reported.push(error);
    response.status(500).end();
  };
  app.use(report);
  const port = await listen(app);
  const url = `http://127.0.0.1:${port}/webhooks`;
  return { reported, port, send: (request: Parameters<typeof sendTo>[1]) => sendTo(url, request) };
}

describe("a receiver in Express", () => {
  describeReceiver((options) => start((app) => app.all("/webhooks", createReceiver(options))));

  const options = { secrets: TEST_SECRET, onDelivery: () => undefined };

  it("fails with advice after a body parser", async () => {
    const stand = await start((app) => app.use(express.json()).post("/webhooks", createReceiver(options)));
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 500 });
    expect(stand.reported).toMatchObject([{ reason: "body_not_raw" }]);
    expect(String(stand.reported[0])).toContain(
      'app.post("/webhooks", createReceiver(…)) above app.use(express.json())',
    );
  });

  it("leaves the body parser to the rest of the application when registered before it", async () => {
    const stand = await start((app) => {
      app.post("/webhooks", createReceiver(options));
      app.use(express.json());
      app.put("/webhooks", (request, response) => void response.json(request.body));
    });
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 200 });
    const headers = { "Content-Type": "application/json" };
    expect(await stand.send({ method: "PUT", headers, body: '{"a":1}' })).toMatchObject({ text: '{"a":1}' });
  });

  const keepingParsers: [string, RequestHandler][] = [
    ["express.raw()", express.raw({ type: "application/json" })],
    ["express.text()", express.text({ type: "application/json" })],
    [
      "a parser that keeps the bytes",
      express.json({ verify: (request, _response, bytes) => void Object.assign(request, { rawBody: bytes }) }),
    ],
  ];

  it.each([...keepingParsers, ["a parser of something else", express.urlencoded({ extended: false })] as const])(
    "accepts the bytes that %s has left",
    async (_what, parser) => {
      const stand = await start((app) => app.use(parser).post("/webhooks", createReceiver(options)));
      expect(await stand.send(await signedRequest({ event: "ride.completed", data: { id: "ü" } }))).toMatchObject({
        status: 200,
      });
    },
  );

  it.each(keepingParsers)(
    "answers 413 to a body without Content-Length of which %s left too much",
    async (_, parser) => {
      const { headers, body } = await signedRequest({ event: "ride.completed", data: { id: "ü" } });
      const bytes = new TextEncoder().encode(body);
      for (const [maxBodyBytes, status] of [
        [bytes.length, 200],
        [bytes.length - 1, 413],
      ] as const) {
        const receive = createReceiver({ ...options, maxBodyBytes });
        const stand = await start((app) => app.use(parser).post("/webhooks", receive));
        const chunked = {
          headers: { ...headers, "Content-Type": "application/json" },
          body: ReadableStream.from([bytes]),
        };
        expect(await stand.send(chunked)).toMatchObject({ status });
      }
    },
  );

  it("works in Node's own server", async () => {
    const receive = createReceiver(options);
    const port = await listen((request, response) => receive(request, response, () => response.destroy()));
    const { headers, body } = await signedRequest({ event: "ride.completed" });
    expect(await sendTo(`http://127.0.0.1:${port}/`, { headers, body })).toMatchObject({ status: 200 });
  });

  it("notices a request that breaks off, and does not wait for the rest", async () => {
    const stand = await start((app) => app.post("/webhooks", createReceiver(options)));
    const socket = connect(stand.port, "127.0.0.1");
    socket.write("POST /webhooks HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
    await once(socket, "connect");
    socket.end();
    socket.resume();
    await once(socket, "close");
    await expect.poll(() => stand.reported.length).toBe(1);
    expect(String(stand.reported[0])).toMatch(/aborted|ended before/);
  });
});
