import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { expect, test } from "vitest";
import { NetworkList } from "../outbound/addresses/address-guard.ts";
import { followConnections, limitConnections } from "./connections.ts";

/** A server's limits, tried with connections from addresses. Returns whether each connection is left open. */
function connections(trustedProxies: readonly string[] = []) {
  const server = createServer();
  server.removeAllListeners("connection");
  limitConnections(server, { maxConnections: 30, trustedProxies: new NetworkList(trustedProxies) });
  const from = (address: string) => {
    const socket = new Socket();
    Object.defineProperty(socket, "remoteAddress", { value: address });
    server.emit("connection", socket);
    return socket;
  };
  const isOpen = (address: string) => !from(address).destroyed;
  return { server, from, isOpen };
}

test("one address has a tenth of the connections, and gets others when it closes some", async () => {
  const { server, from, isOpen } = connections();
  expect(server.maxConnections).toBe(30);
  const [first] = [from("192.0.2.1"), from("::ffff:192.0.2.1"), from("192.0.2.1")];
  expect(isOpen("192.0.2.1")).toBe(false);
  expect(isOpen("192.0.2.2")).toBe(true);
  first?.destroy();
  if (first !== undefined) await once(first, "close");
  expect(isOpen("192.0.2.1")).toBe(true);
  expect(isOpen("192.0.2.1")).toBe(false);
});

test("the addresses of a /64 are one", () => {
  const { isOpen } = connections();
  expect([1, 2, 3, 4].map((n) => isOpen(`2001:db8::${n}`))).toEqual([true, true, true, false]);
  expect(isOpen("2001:db8:0:1::1")).toBe(true);
});

test("trusted proxies and this machine are not bound", () => {
  const { isOpen } = connections(["10.0.0.0/8"]);
  for (const address of ["10.0.0.1", "127.0.0.1", "::1"]) {
    for (let n = 0; n < 20; n++) expect(isOpen(address)).toBe(true);
  }
});

test("a request is dropped whose caller reset the connection before it was accepted: its address is not known", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const followed = followConnections(server);
  const { port } = server.address() as AddressInfo;
  const requested = once(server, "request") as Promise<[IncomingMessage]>;
  const caller = `const socket = require("node:net").connect(${port}, "127.0.0.1", () =>
    socket.write("GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", () => socket.resetAndDestroy()))`;
  // While the caller runs, this process is blocked and accepts no connection.
  expect(spawnSync(process.execPath, ["-e", caller]).status).toBe(0);
  const [request] = await requested;
  expect(request.socket.remoteAddress).toBeUndefined();
  expect(followed.isClosing(request)).toBe(true);
  server.close();
});
