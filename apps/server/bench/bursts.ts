import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { zstdCompressSync } from "node:zlib";
import { MAX_BATCH, scopeNames } from "@bikeshare/contract";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { createSystem } from "../src/city/systems/service.ts";
import { createIds } from "../src/ids.ts";
import { issueKey } from "../src/partners/keys/service.ts";
import { createPartner } from "../src/partners/service.ts";
import { openDatabase } from "../src/storage/db/database.ts";
import { migrate } from "../src/storage/db/migrate/migrate.ts";
import { startServer } from "./processes.ts";

/*
 * What a burst of one hostile caller costs the others: the memory of the process before, at worst and after, and how
 * long another partner waits meanwhile. All on loopback, each burst bounded. `pnpm bench bursts` runs it.
 */

const STATIONS = 1_800;
const BIKES = Number(process.env["BENCH_BIKES"] ?? 25_000);
/** Seconds for which the process is watched from a burst's start. */
const WATCHED_SECONDS = Number(process.env["BENCH_SECONDS"] ?? 20);
/** Milliseconds between two requests of the other partner, and two looks at the memory. */
const POLL_INTERVAL_MS = 50;

interface Target {
  readonly url: string;
  /** A partner's key with its usual 60 requests a minute: the attacker's. */
  readonly key: string;
}

interface Burst {
  readonly name: string;
  /** Begins the burst; gives what ends it. */
  start(target: Target): Promise<() => void>;
}

const bursts: readonly Burst[] = [
  { name: "59 compressed bodies, 8 KB of 256 MiB each", start: compressedBodies },
  { name: "300 who do not read /docs/js/scalar.js", start: (target) => silent(target, "/docs/js/scalar.js", "") },
  { name: "300 who do not read it, br", start: (target) => silent(target, "/docs/js/scalar.js", "br") },
  { name: "300 who do not read a feed of bikes, br", start: (target) => silent(target, bikesFeed, "br") },
  { name: "300 who do not read it, gzip", start: (target) => silent(target, bikesFeed, "gzip") },
  { name: "20 who read /docs/js/scalar.js for ever", start: (target) => greedy(target, "/docs/js/scalar.js", "") },
  { name: "20 who read a feed of bikes for ever, br", start: (target) => greedy(target, bikesFeed, "br") },
  { name: "20 who read /openapi.json for ever, br", start: (target) => greedy(target, "/openapi.json", "br") },
];

const bikesFeed = "/gbfs/3.0/vehicle_status.json";

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bursts-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
try {
  process.stdout.write(`load of the machine before: ${loadavg()[0]?.toFixed(2)}\n`);
  const keys = await prepare();
  process.stdout.write("burst | MiB before | worst | after | other partner's p50 ms | p99 ms | not 200\n");
  for (const burst of bursts) process.stdout.write(`${await measure(burst, keys)}\n`);
} finally {
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

interface Keys {
  readonly operator: string;
  readonly attacker: string;
  readonly other: string;
}

async function prepare(): Promise<Keys> {
  const db = openDatabase({ connectionString: postgres.connectionString });
  await migrate(db);
  const clock = () => Date.now();
  const context = { db, clock, ids: createIds(clock), actor: "bench" };
  await createSystem(db, "main", "Bench", clock());
  const issue = async (partnerId: string | null, rateLimit: number | null) =>
    (
      await issueKey(context, {
        systemId: "main",
        kind: partnerId === null ? "operator" : "live",
        partnerId,
        scopes: partnerId === null ? [] : [...scopeNames],
        rateLimit,
      })
    ).key;
  const attacker = await issue((await createPartner(context, "main", "Attacker")).id, null);
  const other = await issue((await createPartner(context, "main", "Other")).id, 1_000_000);
  const operator = await issue(null, 1_000_000);
  await db.close();
  await whileServing(async (url) => fill(url, operator));
  return { operator, attacker, other };
}

async function fill(url: string, key: string): Promise<void> {
  const post = async (path: string, items: readonly object[]) => {
    const response = await fetch(`${url}/operator/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ items }),
    });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  };
  const stations = Array.from({ length: STATIONS }, (_, n) => ({
    id: `station-${n}`,
    name: `Station ${n}`,
    lat: 40 + n / 10_000,
    lon: -74,
  }));
  const bikes = Array.from({ length: BIKES }, (_, n) => ({ id: `bike-${n}`, station_id: `station-${n % STATIONS}` }));
  for (let from = 0; from < STATIONS; from += MAX_BATCH) await post("stations", stations.slice(from, from + MAX_BATCH));
  for (let from = 0; from < BIKES; from += MAX_BATCH) await post("bikes", bikes.slice(from, from + MAX_BATCH));
}

/** Runs work beside a service of its own, so that no burst pays for the one before. */
async function whileServing<Result>(work: (url: string, pid: number) => Promise<Result>): Promise<Result> {
  const server = await startServer(join(import.meta.dirname, "../src/main.ts"), ["serve", "--json"], {
    DATABASE_URL: postgres.connectionString,
    DATA_DIR: join(directory, "service"),
    PORT: "0",
    LOG_LEVEL: "error",
  });
  try {
    return await work((JSON.parse(server.firstLine) as { url: string }).url, server.pid);
  } finally {
    await server.stop();
  }
}

function measure(burst: Burst, { attacker, other }: Keys): Promise<string> {
  return whileServing(async (url, pid) => {
    // Everything is asked for once, so that what is kept is kept before.
    for (const path of ["/docs/js/scalar.js", "/openapi.json", bikesFeed]) {
      for (const coding of ["br", "gzip", "identity"]) {
        await (await fetch(url + path, { headers: { "accept-encoding": coding } })).arrayBuffer();
      }
    }
    await watch(url, other, pid, 1);
    const before = await residentMebibytes(pid);
    const end = await burst.start({ url, key: attacker });
    const seen = await watch(url, other, pid, WATCHED_SECONDS);
    end();
    await sleep(2_000);
    const after = await residentMebibytes(pid);
    const figures = [before, seen.worst, after].map((figure) => figure.toFixed(0));
    return [burst.name, ...figures, seen.p50.toFixed(1), seen.p99.toFixed(1), seen.failed].join(" | ");
  });
}

interface Seen {
  readonly worst: number;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

/** Looks at the memory of a process, and asks it as another partner does, for some seconds. */
async function watch(url: string, key: string, pid: number, seconds: number): Promise<Seen> {
  const waited: number[] = [];
  let worst = 0;
  let failed = 0;
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    const begun = performance.now();
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/v1/reservations`, { headers }).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.status !== 200) failed++;
    waited.push(performance.now() - begun);
    worst = Math.max(worst, await residentMebibytes(pid));
    await sleep(POLL_INTERVAL_MS);
  }
  waited.sort((a, b) => a - b);
  const at = (share: number) => waited[Math.min(waited.length - 1, Math.floor(waited.length * share))] ?? Number.NaN;
  return { worst, p50: at(0.5), p99: at(0.99), failed };
}

/** Memory that a process holds at present (Linux; elsewhere NaN). */
async function residentMebibytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
}

function destroyAll(sockets: readonly Socket[]): () => void {
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

async function compressedBodies({ url, key }: Target): Promise<() => void> {
  const body = zstdCompressSync(Buffer.alloc(256 * 1024 * 1024));
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

function get(path: string, coding: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${coding === "" ? "" : `Accept-Encoding: ${coding}\r\n`}\r\n`;
}

/** Callers who ask and never read. */
async function silent({ url }: Target, path: string, coding: string): Promise<() => void> {
  const sockets = await Promise.all(Array.from({ length: 300 }, () => open(url)));
  for (const socket of sockets) {
    socket.pause();
    socket.write(get(path, coding));
  }
  return destroyAll(sockets);
}

/** Callers who ask again as soon as they have read something. */
async function greedy({ url }: Target, path: string, coding: string): Promise<() => void> {
  const sockets = await Promise.all(Array.from({ length: 20 }, () => open(url)));
  for (const socket of sockets) {
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
