import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, it } from "vitest";
import { openEventStream } from "./live-hub.ts";

/** Begins a response over a real connection. */
async function beginAnswer() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const answering = once(server, "request") as Promise<[unknown, ServerResponse]>;
  const reader = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  reader.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
  const [, raw] = await answering;
  return { server, reader, raw, stream: openEventStream({ raw, hijack: () => undefined, getHeaders: () => ({}) }) };
}

it("tells of a reader who has gone before anybody asked", async () => {
  const { server, reader, raw, stream } = await beginAnswer();
  const closed = once(raw, "close");
  reader.resetAndDestroy();
  await closed;
  let isTold = false;
  stream.begin();
  stream.onClosed(() => (isTold = true));
  expect(isTold).toBe(true);
  server.close();
});

it("a reader that does not read is cut off, and its connection ends", async () => {
  const { server, reader, raw, stream } = await beginAnswer();
  const closed = once(raw, "close");
  stream.begin();
  const event = { id: "1", name: "deliveries", data: "x".repeat(60_000) };
  // The operating system buffers some megabytes. Only the rest waits in this process.
  let bytes = 0;
  while (stream.send(event)) {
    bytes += event.data.length;
    await new Promise(setImmediate);
  }
  expect(bytes).toBeLessThan(50_000_000);
  expect(raw.writableLength).toBeLessThan(200_000);
  stream.end();
  await closed;
  reader.destroy();
  server.close();
});
