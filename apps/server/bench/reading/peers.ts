import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ServerProcess, startServer } from "../processes.ts";
import type { Subject } from "./measure.ts";

/*
 * Installs and starts the programs in peers/, with which the service is compared. They are a separate package outside the
 * workspace, which is installed when the benchmark runs.
 */

const PEERS = join(import.meta.dirname, "../peers");
const ROOT = join(import.meta.dirname, "../../../..");
const run = promisify(execFile);

/** A program that serves the same list with another framework. */
export interface Peer {
  readonly name: string;
  readonly file: string;
  /** Returns the path of the page of 50 rides after a position. */
  readonly after: (position: Position) => string;
  /** Returns the path of a page of 50 rides by its number, with the exact total. */
  readonly page: (page: number) => string;
}

/** The position of a ride in the list. */
export interface Position {
  readonly started_at: string;
  readonly id: string;
}

const after = (position: Position) => `/rides/after?${new URLSearchParams({ ...position }).toString()}`;
const page = (number: number) => `/rides?page=${number}`;

export const peers: readonly Peer[] = [
  { name: "Fastify + pg", file: "fastify-pg.mjs", after, page },
  { name: "Hono + Drizzle", file: "hono-drizzle.mjs", after, page },
  { name: "NestJS + TypeORM", file: "node_modules/.compiled/nest-typeorm.js", after, page },
  {
    name: "Platformatic SQL",
    file: "platformatic.mjs",
    after: ({ started_at: startedAt, id }) =>
      `/rides?${platformaticOrder}&cursor=true&startAfter=${encodeURIComponent(Buffer.from(JSON.stringify({ startedAt, id })).toString("base64"))}`,
    page: (number) => `/rides?${platformaticOrder}&totalCount=true&offset=${(number - 1) * 50}`,
  },
];

const platformaticOrder = "limit=50&where.systemId.eq=main&orderby.startedAt=desc&orderby.id=desc";

/** Installs the peers from their lock file, and compiles the one that uses TypeScript decorators. */
export async function installPeers(): Promise<void> {
  process.stderr.write("installing the peers …\n");
  // No peer needs install scripts: pg is JavaScript, and drivers of other databases are not used.
  const options = ["install", "--ignore-workspace", "--frozen-lockfile", "--ignore-scripts", "--prefer-offline"];
  await run("npx", ["-y", "pnpm@12", ...options], { cwd: PEERS });
  await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", PEERS]);
}

/** Starts a peer. @param args the connection string first */
export function startPeer({ file }: Pick<Peer, "file">, args: readonly string[]): Promise<ServerProcess> {
  // Ignores their error output: they report each statement that measure.ts cancels after a measurement.
  return startServer(join(PEERS, file), args, { NODE_ENV: "production" }, "ignore");
}

/** Returns what is measured of a peer, or of another server whose first line is its address. */
export function subjectOf(name: string, { firstLine, pid }: ServerProcess, paths: readonly string[]): Subject {
  return { name, base: firstLine, pid, paths };
}
