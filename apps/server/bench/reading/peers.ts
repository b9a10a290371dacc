import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ServerProcess, startServer } from "../processes.ts";
import type { Subject } from "./measure.ts";

/* The peers of peers/: a package of its own outside the workspace, installed when the benchmark runs. */

const PEERS = join(import.meta.dirname, "../peers");
const ROOT = join(import.meta.dirname, "../../../..");
const run = promisify(execFile);

export interface Peer {
  readonly name: string;
  readonly file: string;
  /** The page of 50 rides that follows a position. */
  readonly after: (position: Position) => string;
  /** A page of 50 by its number, with the exact number of all. */
  readonly page: (page: number) => string;
}

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

/** Installs the peers as their lock file says and compiles those that are TypeScript with decorators. */
export async function installPeers(): Promise<void> {
  process.stderr.write("installing the peers …\n");
  // None of them needs an install script: pg is JavaScript, and the other databases' drivers are not used.
  const options = ["install", "--ignore-workspace", "--frozen-lockfile", "--ignore-scripts", "--prefer-offline"];
  await run("npx", ["-y", "pnpm@12", ...options], { cwd: PEERS });
  await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", PEERS]);
}

export function startPeer({ file }: Pick<Peer, "file">, args: readonly string[]): Promise<ServerProcess> {
  // They report each statement that is cancelled between two turns.
  return startServer(join(PEERS, file), args, { NODE_ENV: "production" }, "ignore");
}

export function subjectOf(name: string, { firstLine, pid }: ServerProcess, paths: readonly string[]): Subject {
  return { name, base: firstLine, pid, paths };
}
