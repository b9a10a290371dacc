import { join } from "node:path";
import { startServer } from "../processes.ts";
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

/** Positions all over the list: none is asked for twice in a row, so no answer is in any cache of answers. */
function spreadPositions(): Position[] {
  const begin = Date.parse("2025-01-05T00:00:00Z");
  const step = 2_000_000 * 0.95 * 15.768;
  return Array.from({ length: 1000 }, (_, index) => ({
    started_at: new Date(begin + ((index * 7919) % 1000) * step).toISOString(),
    id: "M",
  }));
}

async function startOn({ sets, directory }: BenchContext, rides: number): Promise<MeasuredService> {
  return startService(await sets.of(rides), join(directory, `service-${rides}`));
}

async function measureOn(
  { sets, repetitions, seconds, connections }: BenchContext,
  rides: number,
  subjects: readonly Subject[],
): Promise<Map<string, Figures>> {
  const options = { postmasterPid: await sets.postmasterPid(), connectionString: await sets.of(rides) };
  return measure(subjects, { ...options, repetitions, seconds, connections });
}
