import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { followConnections } from "./connections.ts";
import { createParserErrorHandler } from "./server.ts";

it("a connection over which nothing has come is closed without an answer, which a browser would take for its next request's", async () => {
  const server = createServer({ headersTimeout: 10, connectionsCheckingInterval: 10 });
  const connections = followConnections(server);
  const answer = createParserErrorHandler(() => "request_1");
  server.on("clientError", (error, socket) => answer(connections, error, socket as Parameters<typeof answer>[2]));
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const spare = connect((server.address() as AddressInfo).port, "127.0.0.1");
  expect(await text(spare)).toBe("");
});
