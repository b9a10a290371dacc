import { join } from "node:path";
import { createHttpClient } from "@bikeshare/load";
import { RIDE_MS } from "../dataset.ts";
import { type ServerProcess, startServer } from "../processes.ts";
import type { DataSets } from "./data-sets.ts";
import { type Figures, measure, type Subject } from "./measure.ts";
import { installPeers, peers, type Position, startPeer, subjectOf } from "./peers.ts";
import { type Ratio, report } from "./report.ts";
import { type MeasuredService, type ServiceOptions, startService } from "./service.ts";

/*
 * The parts of `pnpm bench read` that compare the service with others: the peers (servers of the same list on other
 * frameworks, see peers.ts), a bare handler without the service's checks, and a constant buffer.
 */

/**
 * The data sets and settings that each part of `pnpm bench read` gets. (The `BenchContext` of provision.ts is another
 * type.)
 */
export interface BenchContext {
  readonly sets: DataSets;
  /** The directory with the secrets of the services. */
  readonly directory: string;
  readonly repetitions: number;
  readonly seconds: number;
  readonly connections: number;
  /** Milliseconds after each load whose processor time is counted too, because the service writes some data later. */
  readonly trailingMs?: number;
}

const PEER_RIDES = 2_000_000;
/**
 * The number of partners that read at once. The service runs only a few reads of each partner at a time, so one partner
 * alone could not use as many connections as the peers.
 */
const PARTNERS = 8;

/** Measures a page by cursor from anywhere in the list, compared with the peers and with the bare handler. */
export async function cursorBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(PEER_RIDES);
  await installPeers();
  const positions = spreadPositions();
  const bare = await startServer(join(import.meta.dirname, "bare-handler.ts"), [connectionString], {
    NODE_ENV: "production",
  });
  const servers = [bare];
  const service = await startOn(context, PEER_RIDES, { keys: PARTNERS });
  try {
    const subjects: Subject[] = [];
    for (const peer of peers) {
      const server = await startPeer(peer, [connectionString]);
      servers.push(server);
      subjects.push(subjectOf(peer.name, server, positions.map(peer.after)));
    }
    const query = (position: Position) => `/rides/after?${new URLSearchParams({ ...position }).toString()}`;
    subjects.push(subjectOf("bare handler", bare, positions.map(query)));
    subjects.push(service.subject("service", positions.map(service.after)));
    const figures = await measureOn(context, PEER_RIDES, subjects);
    // `must`: the ratio without which the service falls short. `aim`: the ratio that it should reach.
    const ratios: Ratio[] = peers.map(({ name }) => ({
      text: `service / ${name}`,
      of: "service",
      by: name,
      better: "more",
      must: 3.5,
      aim: 4.5,
    }));
    ratios.push({
      text: "service / bare handler",
      of: "service",
      by: "bare handler",
      better: "more",
      must: 0.8,
      aim: 0.95,
    });
    return report(figures, ratios);
  } finally {
    await service.stop();
    for (const server of servers) await server.stop();
  }
}

/** Measures pages by number: page 1 and the page at depth 1,000,000. The peers use count and offset. */
export async function pagesBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(PEER_RIDES);
  await installPeers();
  const servers: ServerProcess[] = [];
  const service = await startOn(context, PEER_RIDES);
  try {
    const subjects: Subject[] = [];
    for (const peer of peers) {
      const server = await startPeer(peer, [connectionString]);
      servers.push(server);
      for (const page of [1, DEEP_PAGE]) {
        subjects.push(subjectOf(`${peer.name}, page ${page}`, server, [peer.page(page)]));
      }
    }
    subjects.push(service.subject("service, page 1", ["/v1/rides?limit=50&page=1"]));
    subjects.push(service.subject(`service, page ${DEEP_PAGE}`, deepPages()));
    // Measured once, because no ratio depends on these figures.
    return report(await measureOn({ ...context, repetitions: 1 }, PEER_RIDES, subjects), []);
  } finally {
    await service.stop();
    for (const server of servers) await server.stop();
  }
}

/** The number of the page of 50 rides at depth 1,000,000. */
const DEEP_PAGE = 20_000;

/** Returns the paths of pages around depth 1,000,000, each at a different position of the list. */
function deepPages(): string[] {
  return Array.from({ length: 200 }, (_, index) => `/v1/rides?limit=50&page=${DEEP_PAGE - 1000 + index * 10}`);
}

/** Measures the list of stations, which all partners poll, compared with Fastify sending as many prepared bytes. */
export async function stationsBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(100_000);
  const service = await startOn(context, 100_000);
  const path = "/v1/stations?limit=200";
  const polling = service.subject("stations", [path]);
  const client = createHttpClient(service.url, { connections: 1 });
  const { body, headers } = await client.ask({ path, key: polling.keys?.[0] });
  client.close();
  const bytes = Buffer.byteLength(body);
  await installPeers();
  const fastify = await startPeer({ file: "fastify-pg.mjs" }, [connectionString, String(bytes)]);
  try {
    const known = { "if-none-match": headers["etag"] ?? "" };
    const subjects = [
      subjectOf("Fastify, constant buffer", fastify, ["/constant"]),
      polling,
      { ...polling, name: "stations, unchanged (304)", status: 304, headers: known },
    ];
    const compare = (of: string, must: number, aim: number): Ratio => ({
      text: `${of} / constant buffer`,
      of,
      by: "Fastify, constant buffer",
      better: "more",
      must,
      aim,
    });
    return report(await measureOn(context, 100_000, subjects), [
      compare("stations", 0.8, 0.9),
      compare("stations, unchanged (304)", 0.9, 1),
    ]);
  } finally {
    await service.stop();
    await fastify.stop();
  }
}

/** Returns positions all over the list. No position is requested twice in a row, so no cache has the response. */
export function spreadPositions(rides = PEER_RIDES): Position[] {
  const end = Date.parse("2025-12-31T00:00:00Z");
  // In the newest 95 % of the list, so that a full page follows each position.
  const step = (rides * 0.95 * RIDE_MS) / 300;
  return Array.from({ length: 300 }, (_, index) => ({
    // 7919 has no common divisor with 300, so each of the 300 positions occurs once, far from the one before it.
    started_at: new Date(end - ((index * 7919) % 300) * step).toISOString(),
    // Greater than the ids of made-up rides, which are hexadecimal.
    id: "M",
  }));
}

/** Starts the service on the data set with so many rides. */
export async function startOn(
  { sets, directory }: BenchContext,
  rides: number,
  options?: ServiceOptions,
): Promise<MeasuredService> {
  return startService(await sets.of(rides), join(directory, `service-${rides}`), options);
}

/** Measures subjects that read the data set with so many rides. */
export async function measureOn(
  { sets, repetitions, seconds, connections, trailingMs }: BenchContext,
  rides: number,
  subjects: readonly Subject[],
): Promise<Map<string, Figures>> {
  const connectionString = await sets.of(rides);
  return measure(subjects, { connectionString, repetitions, seconds, connections, trailingMs });
}
