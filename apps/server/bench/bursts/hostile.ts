import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import { scopeNames } from "@bikeshare/contract";
import { createHttpClient, fillCity, memoryMiB, percentilesOf } from "@bikeshare/load";
import { issueKey } from "../../src/partners/keys/service.ts";
import { onPostgres, say, serve } from "../processes.ts";
import { makeOperatorKey, makePartner, openNewSystem, SYSTEM_ID } from "../provision.ts";
import { createOthers, reading } from "./others.ts";

/*
 * Measures what a burst of one hostile caller costs: the memory of the process before, at its peak and after, and the
 * latency of another partner. Everything runs on loopback, and each burst is limited.
 */

const STATIONS = 1_800;
const BIKES = Number(process.env["BENCH_BIKES"] ?? 25_000);
/** Seconds of measurement from the start of a burst. */
const WATCHED_SECONDS = Number(process.env["BENCH_SECONDS"] ?? 20);
/** Milliseconds between two requests of the other partner, and between two readings of the memory. */
const POLL_INTERVAL_MS = 50;

/** A service that is attacked. */
interface Target {
  readonly url: string;
  /** The attacker's key, with the usual 60 requests a minute. */
  readonly key: string;
  /** Another key of the same partner, with 100,000 requests a minute. */
  readonly fastKey: string;
}

/** The requests of one hostile caller. */
interface Burst {
  readonly name: string;
  /** Starts the burst. @returns a function that ends it */
  start(target: Target): Promise<() => void>;
}

const bursts: readonly Burst[] = [
  { name: "59 compressed bodies, 8 KB of 256 MiB each", start: compressedBodies },
  { name: "300 who do not read /docs/js/scalar.js", start: (target) => silent(target, "/docs/js/scalar.js", "") },
  { name: "300 who do not read it, br", start: (target) => silent(target, "/docs/js/scalar.js", "br") },
  { name: "300 who do not read a feed of bikes, br", start: (target) => silent(target, bikesFeed, "br") },
  { name: "300 who do not read it, gzip", start: (target) => silent(target, bikesFeed, "gzip") },
  { name: "60 who ask for 90 pages of 200 bikes and do not read them, again every 2 s", start: unreadLists },
  { name: "20 who read /docs/js/scalar.js for ever", start: (target) => greedy(target, "/docs/js/scalar.js", "") },
  { name: "20 who read a feed of bikes for ever, br", start: (target) => greedy(target, bikesFeed, "br") },
  { name: "20 who read /openapi.json for ever, br", start: (target) => greedy(target, "/openapi.json", "br") },
];

const bikesFeed = "/gbfs/3.0/vehicle_status.json";

/** Measures every burst, and prints a line for each. */
export function hostileCallers(): Promise<void> {
  return onPostgres(async ({ directory, connectionString }) => {
    const context = await openNewSystem(connectionString);
    // Null: the default limit of 60 requests a minute.
    const attacker = await makePartner(context, "Attacker", { rateLimit: null });
    const input = { systemId: SYSTEM_ID, kind: "live", partnerId: attacker.partnerId, scopes: scopeNames } as const;
    const { key: fastKey } = await issueKey(context, { ...input, rateLimit: 100_000 });
    const other = await makePartner(context, "Other");
    const operatorKey = await makeOperatorKey(context);
    await context.db.close();
    const start = () => serve({ DATABASE_URL: connectionString, DATA_DIR: join(directory, "service") });
    const filling = await start();
    await fillCity(filling.url, operatorKey, { stations: STATIONS, bikes: BIKES, rides: 0 }, 1);
    await filling.stop();
    say("burst | MiB before | worst | after | other partner's p50 ms | p99 ms | not 200");
    for (const burst of bursts) {
      // Starts a new service for each burst, so that none affects the next.
      const { url, pid, stop } = await start();
      const target = { url, key: attacker.key, fastKey };
      say(await measure(burst, target, other.key, pid));
      await stop();
    }
  });
}

/** Measures one burst. @returns a line of the report */
async function measure(burst: Burst, target: Target, otherKey: string, pid: number): Promise<string> {
  const { url } = target;
  const client = createHttpClient(url, { connections: 1 });
  // Requests everything once, to fill the caches.
  for (const path of ["/docs/js/scalar.js", "/openapi.json", bikesFeed])
    for (const coding of ["br", "gzip", "identity"]) await client.ask({ path, headers: { "accept-encoding": coding } });
  client.close();
  const others = createOthers(url, otherKey, [reading("/v1/reservations", POLL_INTERVAL_MS)]);
  await others.measure("quiet", 1);
  const before = await memoryMiB(pid);
  const end = await burst.start(target);
  let [worst, isOver] = [0, false];
  const watching = (async () => {
    while (!isOver) {
      worst = Math.max(worst, await memoryMiB(pid));
      await sleep(POLL_INTERVAL_MS);
    }
  })();
  await others.measure("busy", WATCHED_SECONDS).finally(() => (isOver = true));
  await watching;
  end();
  await sleep(2_000);
  const after = await memoryMiB(pid);
  const { p50, p99 } = percentilesOf([...others.waits.busy.values()].flat());
  const figures = [before, worst, after].map((figure) => figure.toFixed(0));
  return [burst.name, ...figures, p50.toFixed(1), p99.toFixed(1), others.failed()].join(" | ");
}

/** Opens a connection, whose later errors are ignored. */
async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

/** Returns a function that closes connections. */
function destroyAll(sockets: readonly Socket[]): () => void {
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** Sends bodies that are small compressed and huge when they are decompressed. */
async function compressedBodies({ url, key }: Target): Promise<() => void> {
  const body = zstdCompressSync(Buffer.alloc(256 * 1024 * 1024));
  // One fewer than the key's limit of requests a minute, so that none is refused for it.
  const sockets = await Promise.all(Array.from({ length: 59 }, () => open(url)));
  for (const socket of sockets) {
    socket.resume();
    socket.write(
      `POST /v1/reservations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Encoding: zstd\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
  }
  return destroyAll(sockets);
}

/** Returns a request without a key. @param coding the accepted content coding; empty: none */
function get(path: string, coding: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${coding === "" ? "" : `Accept-Encoding: ${coding}\r\n`}\r\n`;
}

/** Starts callers that send requests and never read the responses. */
async function silent({ url }: Target, path: string, coding: string): Promise<() => void> {
  const sockets = await Promise.all(Array.from({ length: 300 }, () => open(url)));
  for (const socket of sockets) {
    socket.pause();
    socket.write(get(path, coding));
  }
  return destroyAll(sockets);
}

/** Starts callers that pipeline many requests for long pages, never read the responses, and reconnect. */
async function unreadLists({ url, fastKey }: Target): Promise<() => void> {
  const page = `GET /v1/bikes?limit=200 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${fastKey}\r\n\r\n`;
  let end = () => undefined as void;
  const begin = async () => {
    end();
    const sockets = await Promise.all(Array.from({ length: 60 }, () => open(url)));
    for (const socket of sockets) socket.pause().write(page.repeat(90));
    end = destroyAll(sockets);
  };
  await begin();
  const timer = setInterval(() => void begin(), 2_000);
  return () => {
    clearInterval(timer);
    end();
  };
}

/** Starts callers that send the next request as soon as a response begins, and read all of it. */
async function greedy({ url }: Target, path: string, coding: string): Promise<() => void> {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(url)));
  for (const socket of sockets) {
    // One request is due at first, and one for each response that begins.
    let owed = 1;
    socket.on("data", (part: Buffer) => {
      owed += part.toString("latin1").split("HTTP/1.1 ").length - 1;
      for (; owed > 0; owed--) socket.write(get(path, coding));
    });
    socket.write(get(path, coding));
    owed--;
  }
  return destroyAll(sockets);
}
