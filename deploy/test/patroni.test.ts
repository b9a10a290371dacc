import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findFreePort } from "@bikeshare/test-kit";
import { expect, it, onTestFinished, vi } from "vitest";
import { parse } from "yaml";
import { end } from "./packed-server.ts";
import { isInstalled, searchPath } from "./proxies.ts";

const directory = join(import.meta.dirname, "../patroni");
const isHere = isInstalled("haproxy");
const note = isHere ? "" : " (skipped: haproxy is not installed)";

interface Dcs {
  readonly ttl: number;
  readonly loop_wait: number;
  readonly retry_timeout: number;
  readonly synchronous_mode: boolean;
}

it("Patroni's times fit together, and no standby takes over that lacks what was acknowledged", () => {
  const { bootstrap } = parse(readFileSync(join(directory, "patroni.yml"), "utf8")) as { bootstrap: { dcs: Dcs } };
  const { ttl, loop_wait: loop, retry_timeout: retry, synchronous_mode: isSynchronous } = bootstrap.dcs;
  // A rule of Patroni. Otherwise an old primary might continue after another server has become the primary.
  expect(loop + 2 * retry).toBeLessThanOrEqual(ttl);
  expect(isSynchronous).toBe(true);
});

it.skipIf(!isHere)(`HAProxy leads to the primary and to the standby, and follows a switchover${note}`, async () => {
  const nodes = [await startNode("db", "primary"), await startNode("db2", "replica")] as const;
  const { primary, replica } = await startHaproxy(nodes);
  const leadsTo = (port: number, name: string) =>
    vi.waitFor(async () => expect(await greetingAt(port)).toBe(name), { timeout: 120_000, interval: 100 });
  await leadsTo(primary, "db");
  await leadsTo(replica, "db2");

  const kept = connect(primary, "127.0.0.1");
  await once(kept, "data");
  nodes[0].role = "replica";
  nodes[1].role = "primary";
  await leadsTo(primary, "db2");
  await leadsTo(replica, "db");
  // The connection to the old primary was closed.
  await vi.waitFor(() => expect(kept.destroyed).toBe(true), { timeout: 120_000 });
});

/** A fake PostgreSQL server, which sends its name to each client, with the health checks of its Patroni. */
interface Node {
  readonly name: string;
  readonly databasePort: number;
  readonly patroniPort: number;
  role: "primary" | "replica";
}

async function startNode(name: string, role: Node["role"]): Promise<Node> {
  const sockets = new Set<{ destroy(): void }>();
  const database = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).write(name);
    // A client that needs only the name closes its side of the connection, and the server then closes too.
    socket.resume().on("end", () => socket.end());
  });
  const patroni = createServer((request, response) => {
    response.writeHead(request.url === `/${node.role}` ? 200 : 503).end();
  });
  const node = { name, role, databasePort: await listen(database), patroniPort: await listen(patroni) };
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    database.close();
    patroni.close();
  });
  return node;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Starts HAProxy with the configuration of the example, with other addresses. */
async function startHaproxy(nodes: readonly Node[]): Promise<{ readonly primary: number; readonly replica: number }> {
  const example = readFileSync(join(directory, "haproxy.cfg"), "utf8");
  execFileSync("haproxy", ["-c", "-f", join(directory, "haproxy.cfg")], { env: searchPath, stdio: "pipe" });
  const ports = { primary: await findFreePort(), replica: await findFreePort() };
  let config = example
    .replace("127.0.0.1:5000", `127.0.0.1:${ports.primary}`)
    .replace("127.0.0.1:5001", `127.0.0.1:${ports.replica}`)
    .replaceAll("check port 8008", "check");
  for (const { name, databasePort, patroniPort } of nodes) {
    const server = new RegExp(`(server ${name}) .*`, "g");
    config = config.replaceAll(server, `$1 127.0.0.1:${databasePort} port ${patroniPort}`);
  }
  const folder = await mkdtemp(join(tmpdir(), "bikeshare-patroni-"));
  const file = join(folder, "haproxy.cfg");
  await writeFile(file, config);
  const child = spawn("haproxy", ["-db", "-f", file], { env: searchPath, stdio: "ignore" });
  onTestFinished(async () => {
    await end(child);
    await rm(folder, { recursive: true });
  });
  await once(child, "spawn");
  return ports;
}

/** Returns the name of the server behind a port. Rejects if there is none. */
async function greetingAt(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end();
  return text(socket);
}
