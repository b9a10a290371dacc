import { join } from "node:path";
import { type ServerProcess, startServer } from "../processes.ts";
import type { DataSets } from "./data-sets.ts";
import { type Figures, measure, type Subject } from "./measure.ts";
import { installPeers, peers, type Position, startPeer, subjectOf } from "./peers.ts";
import { type Ratio, report } from "./report.ts";
import { type MeasuredService, startService } from "./service.ts";

/** What a part of the benchmark is given. */
export interface BenchContext {
  readonly sets: DataSets;
  /** Where services keep their secrets. */
  readonly directory: string;
  readonly repetitions: number;
  readonly seconds: number;
  readonly connections: number;
  /** Milliseconds after each load whose processor time counts as well, for what is written later. */
  readonly trailingMs?: number;
}

const PEER_RIDES = 2_000_000;

/** A page by cursor from anywhere in the list, beside the peers and beside the least that could answer it. */
export async function cursorBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(PEER_RIDES);
  await installPeers();
  const positions = spreadPositions();
  const bare = await startServer(join(import.meta.dirname, "bare-handler.ts"), [connectionString], {
    NODE_ENV: "production",
  });
  const servers = [bare];
  const service = await startOn(context, PEER_RIDES);
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

/** Pages by number beside the peers', who count and skip: page 1 and the page at depth 1,000,000. */
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
    return report(await measureOn({ ...context, repetitions: 1 }, PEER_RIDES, subjects), []);
  } finally {
    await service.stop();
    for (const server of servers) await server.stop();
  }
}

const DEEP_PAGE = 20_000;

/** Pages around depth 1,000,000, each another hour of the list. */
function deepPages(): string[] {
  return Array.from({ length: 200 }, (_, index) => `/v1/rides?limit=50&page=${DEEP_PAGE - 1000 + index * 10}`);
}

/** What depth and size cost. */
export async function depthBench(context: BenchContext): Promise<string> {
  const middle = await startOn(context, PEER_RIDES);
  const small = await startOn(context, 100_000);
  const large = await startOn(context, 10_000_000);
  try {
    const subjects = [
      middle.subject("page 1 of 2 M", ["/v1/rides?limit=50&page=1"]),
      middle.subject("pages around depth 1,000,000 of 2 M", deepPages()),
      small.subject("first page of 100 k", ["/v1/rides?limit=50"]),
      large.subject("first page of 10 M", ["/v1/rides?limit=50"]),
    ];
    return report(await measureOn(context, PEER_RIDES, subjects), [
      ratio("page 1 / page at depth 1,000,000", "page 1 of 2 M", "pages around depth 1,000,000 of 2 M", 1.1, 1.05),
      ratio("first page of 100 k / of 10 M", "first page of 100 k", "first page of 10 M", 1.2, 1.05),
    ]);
  } finally {
    for (const service of [middle, small, large]) await service.stop();
  }
}

function ratio(text: string, of: string, by: string, must: number, aim: number): Ratio {
  return { text, of, by, better: "less", must, aim };
}

/** Filtered lists with their exact total over 10 M rides: one caller, one request at a time, since a partner has no more. */
export async function filtersBench(context: BenchContext): Promise<string> {
  const service = await startOn(context, 10_000_000);
  try {
    const several = (count: number, path: (index: number) => string) =>
      Array.from({ length: count }, (_, i) => path(i));
    const station = (index: number) => `station-${String(index).padStart(4, "0")}`;
    const filters: Record<string, string[]> = {
      "by bike": several(40, (i) => `bike_id=bike-${i * 611}`),
      "by station, the busiest 20": several(20, (i) => `station_id=${station(i)}`),
      "by station, of medium use": several(40, (i) => `station_id=${station(880 + i)}`),
      "by time, a month": several(40, (i) => `started_after=${month(i)}&started_before=${month(i + 1)}`),
      "by time, up to an instant": several(40, (i) => `started_before=${month(i).replace("01T00:00", "17T13:37")}`),
      "by station and month": several(
        20,
        (i) => `station_id=${station(i * 90)}&started_after=${month(i)}&started_before=${month(i + 1)}`,
      ),
    };
    const subjects = [service.subject("page 1 of all", ["/v1/rides?limit=50&page=1"])];
    for (const [name, queries] of Object.entries(filters)) {
      subjects.push(
        service.subject(
          name,
          queries.map((query) => `/v1/rides?limit=50&${query}`),
        ),
      );
    }
    const figures = await measureOn({ ...context, connections: 1 }, 10_000_000, subjects);
    return report(
      figures,
      Object.keys(filters).map((name) => ratio(`page 1 of all / ${name}`, "page 1 of all", name, 5, 2)),
    );
  } finally {
    await service.stop();
  }
}

function month(index: number): string {
  return new Date(Date.UTC(2022, index, 1)).toISOString();
}

/** The list that everyone polls, beside Fastify sending as many bytes that are ready. */
export async function stationsBench(context: BenchContext): Promise<string> {
  const connectionString = await context.sets.of(100_000);
  const service = await startOn(context, 100_000);
  const path = "/v1/stations?limit=200";
  const response = await service.fetch(path);
  const bytes = (await response.arrayBuffer()).byteLength;
  const etag = response.headers.get("etag") ?? "";
  await installPeers();
  const fastify = await startPeer({ file: "fastify-pg.mjs" }, [connectionString, String(bytes)]);
  try {
    const unchanged = service.subject("stations, unchanged (304)", [path], { status: 304 });
    const subjects = [
      subjectOf("Fastify, constant buffer", fastify, ["/constant"]),
      service.subject("stations", [path]),
      { ...unchanged, headers: { ...unchanged.headers, "if-none-match": etag } },
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

/** Positions all over the list: none is asked for twice in a row, so no answer is in any cache of answers. */
function spreadPositions(): Position[] {
  const end = Date.parse("2025-12-31T00:00:00Z");
  const step = (PEER_RIDES * 0.95 * 15_768) / 300;
  return Array.from({ length: 300 }, (_, index) => ({
    started_at: new Date(end - ((index * 7919) % 300) * step).toISOString(),
    id: "M",
  }));
}

export async function startOn({ sets, directory }: BenchContext, rides: number): Promise<MeasuredService> {
  return startService(await sets.of(rides), join(directory, `service-${rides}`));
}

export async function measureOn(
  { sets, repetitions, seconds, connections, trailingMs }: BenchContext,
  rides: number,
  subjects: readonly Subject[],
): Promise<Map<string, Figures>> {
  const options = { postmasterPid: await sets.postmasterPid(), connectionString: await sets.of(rides) };
  return measure(subjects, { ...options, repetitions, seconds, connections, trailingMs });
}
