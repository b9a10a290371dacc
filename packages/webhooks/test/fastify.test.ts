import { once } from "node:events";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { createReceiver } from "../src/fastify.ts";
import { signedRequest, TEST_SECRET } from "../src/testing.ts";
import { sendTo } from "./loopback.ts";
import { describeReceiver } from "./receiver-cases.ts";

const apps: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) {
    app.server.closeAllConnections();
    await app.close();
  }
});

/** Starts an application whose error handler collects the errors. */
async function start(build: (app: FastifyInstance) => unknown) {
  const app = fastify();
  apps.push(app);
  const reported: unknown[] = [];
  app.setErrorHandler((error, _request, reply) => {
    reported.push(error);
    return reply.code(500).send();
  });
  await build(app);
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return { reported, send: (request: Parameters<typeof sendTo>[1]) => sendTo(`${url}/webhooks`, request) };
}

describe("a receiver in Fastify", () => {
  describeReceiver((options) => start((app) => app.register(createReceiver({ path: "/webhooks", ...options }))));

  const options = { path: "/webhooks", secrets: TEST_SECRET, onDelivery: () => undefined };

  it("has its path below the prefix of its registration", async () => {
    const stand = await start((app) =>
      app.register(createReceiver({ ...options, path: undefined }), { prefix: "/webhooks" }),
    );
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 200 });
  });

  it("leaves the application's own parsers as they are", async () => {
    const stand = await start((app) => {
      app.addContentTypeParser("text/plain", { parseAs: "string" }, (_request, text, done) => done(null, { text }));
      app.put("/webhooks/other", async () => "");
      app.register(createReceiver({ ...options, path: "/elsewhere" }));
      app.post("/webhooks", async (request) => request.body);
    });
    const headers = { "Content-Type": "application/json" };
    expect(await stand.send({ headers, body: '{"a":1}' })).toMatchObject({ text: '{"a":1}' });
    expect(await stand.send({ headers: { "Content-Type": "text/plain" }, body: "hi" })).toMatchObject({
      text: '{"text":"hi"}',
    });
  });

  it("fails with advice when a hook has read the body", async () => {
    const stand = await start((app) => {
      app.addHook("onRequest", async (request) => {
        request.raw.resume();
        await once(request.raw, "end");
      });
      app.register(createReceiver(options));
    });
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 500 });
    expect(stand.reported).toMatchObject([{ reason: "body_not_raw" }]);
    expect(String(stand.reported[0])).toContain("no hook or middleware may read the request of this path");
  });

  it("fails when a hook has replaced the body", async () => {
    const stand = await start((app) => {
      app.addHook("preValidation", async (request) => void (request.body = { event: "ride.completed" }));
      app.register(createReceiver(options));
    });
    expect(await stand.send(await signedRequest({ event: "ride.completed" }))).toMatchObject({ status: 500 });
    expect(stand.reported).toMatchObject([{ reason: "body_not_raw" }]);
  });

  it("works with Fastify's inject", async () => {
    const app = fastify();
    app.register(createReceiver(options));
    const { headers, body, method } = await signedRequest({ event: "ride.completed" });
    expect(await app.inject({ method, url: "/webhooks", headers, body })).toMatchObject({ statusCode: 200 });
  });
});
