import fastify from "fastify";
import { expect, it } from "vitest";
import { leaveUnanswered } from "./routes.ts";

it.each([
  ["GET", undefined],
  ["POST", "{}"],
])("a %s that is left without an answer is disconnected", async (method, body) => {
  const app = fastify();
  app.addHook("preHandler", (_request, reply) => {
    leaveUnanswered(reply, 1);
  });
  app.all("/", () => "an answer");
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  await expect(fetch(url, { method, headers, ...(body && { body }) })).rejects.toThrow("fetch failed");
  await app.close();
});
