import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createHttpClient } from "./client.ts";

/** Starts a server that sends the next of `answers` to each request on a connection. An answer is sent in its parts. */
async function serverOf(
  ...answers: readonly (readonly string[])[]
): Promise<{ url: string; connections: () => number }> {
  const left = [...answers];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.setNoDelay(true).on("error", () => undefined);
    socket.on("data", () => void write(socket, left.shift() ?? []));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  return { url: `http://127.0.0.1:${port}/base/`, connections: () => sockets.length };
}

async function write(socket: Socket, parts: readonly string[]): Promise<void> {
  for (const part of parts) {
    if (part === "END") socket.end();
    else {
      socket.write(part, "latin1");
      await setImmediate();
    }
  }
}

const ok = "HTTP/1.1 200 OK\r\n";

it.each([
  ["with a length", [`${ok}Content-Length: 5\r\n\r\nhello`]],
  ["in single bytes", `${ok}Content-Length: 5\r\n\r\nhello`.split("")],
  ["in chunks", [`${ok}Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`]],
  [
    "in chunks of single bytes",
    `${ok}transfer-encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n`.split(""),
  ],
  ["behind an interim answer", ["HTTP/1.1 100 Continue\r\n\r\n", `${ok}content-length: 5\r\n\r\nhello`]],
  ["that ends with the connection", [`${ok}\r\nhe`, "llo", "END"]],
])("reads an answer %s", async (_, parts) => {
  const { url } = await serverOf(parts);
  const client = createHttpClient(url, { connections: 1 });
  expect(await client.ask({ path: "/x" })).toMatchObject({ status: 200, outcome: "200", body: "hello" });
  client.close();
});

it("uses a connection again, and opens another behind an answer that ends it", async () => {
  const empty = "HTTP/1.1 304 Not Modified\r\nETag: a\r\nContent-Length: 9\r\n\r\n";
  const { url, connections } = await serverOf(
    [empty],
    [`${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`],
    [`HTTP/1.1 409 Conflict\r\nContent-Length: 47\r\n\r\n{"error":"no_bike_available","message":"taken"}`],
  );
  const client = createHttpClient(url, { connections: 1 });
  expect(await client.ask({ path: "/x" })).toMatchObject({ status: 304, body: "", headers: { etag: "a" } });
  const [second, third] = await Promise.all([client.ask({ path: "/x" }), client.ask({ path: "/x" })]);
  expect([second.outcome, third.outcome]).toEqual(["200", "409 no_bike_available"]);
  expect(connections()).toBe(2);
  expect(client.pending()).toBe(0);
  client.close();
});

it("names why no answer came: silence, an end in the middle, nobody there, and its own end", async () => {
  const outcome = async (parts: readonly string[]) => {
    const { url } = await serverOf(parts);
    const client = createHttpClient(url, { connections: 1, timeoutMs: 50 });
    const answer = await client.ask({ path: "/x" });
    client.close();
    return answer;
  };
  expect(await outcome([])).toMatchObject({ status: 0, outcome: "timeout" });
  expect(await outcome([`${ok}Content-Length: 5\r\n\r\nhe`, "END"])).toMatchObject({ outcome: "connection closed" });
  const nobody = createHttpClient("http://127.0.0.1:9", { connections: 1 });
  expect(await nobody.ask({ path: "/x" })).toMatchObject({ status: 0, outcome: "ECONNREFUSED" });
  const { url } = await serverOf([]);
  const client = createHttpClient(url, { connections: 1 });
  const pending = [client.ask({ path: "/x" }), client.ask({ path: "/y" })];
  client.close();
  expect((await Promise.all(pending)).map((answer) => answer.outcome)).toEqual(["abandoned", "abandoned"]);
});
