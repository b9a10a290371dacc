import { setTimeout } from "node:timers/promises";
import { openReceiver, type PreparedSystem, type Receiver } from "@bikeshare/load";
import { type Database, openDatabase } from "../../src/storage/db/database.ts";
import { migrate } from "../../src/storage/db/migrate/migrate.ts";
import { distribute } from "../../src/storage/distribution/service.ts";
import { prepareSystem } from "../workload/prepare.ts";

/** A system that is loaded, with its partners and bikes, and the receiver of its webhooks. */
export interface LoadedSystem {
  readonly systemId: string;
  readonly prepared: PreparedSystem;
  readonly receiver: Receiver;
}

/** The clients of each system that ride, and those that hold reservations. */
export const RIDERS = 6;
export const HOLDERS = 6;
/** Milliseconds between two attempts to drop the old copies of moved shards. */
const CLEANUP_INTERVAL_MS = 500;

interface SystemsOptions {
  readonly databaseUrl: string;
  readonly secretsFile: string;
  readonly onProgress: (line: string) => void;
}

/**
 * Distributes an empty database over two Citus nodes, and creates a system on each. The nodes
 * are told apart by their ports, which must differ.
 */
export async function prepareSystems({
  databaseUrl,
  secretsFile,
  onProgress,
}: SystemsOptions): Promise<readonly LoadedSystem[]> {
  const db = openDatabase({ connectionString: databaseUrl, statementTimeoutMs: 0, maxConnections: 1 });
  try {
    await migrate(db);
    await distribute(db, () => undefined);
    const ports = await listPorts(db);
    if (ports.length !== 2) throw new Error(`two nodes may have shards, and here are ${ports.length}: citus_add_node`);
    const systems: LoadedSystem[] = [];
    for (const [index, port] of ports.entries()) {
      const systemId = ["first", "second"][index] ?? "";
      const receiver = await openReceiver();
      const prepared = await prepareSystem({
        databaseUrl,
        secretsFile,
        receiver,
        systemId,
        riders: RIDERS,
        holders: HOLDERS,
      });
      systems.push({ systemId, prepared, receiver });
      onProgress(`${systemId} is made`);
      await moveSystem(db, systemId, port, "block_writes");
      onProgress(`${systemId} is on ${port}`);
    }
    return systems;
  } finally {
    await db.close();
  }
}

/** Returns the ports of the nodes that may have shards, sorted. */
export async function listPorts(db: Database): Promise<number[]> {
  const text = "select nodeport from pg_dist_node where isactive and shouldhaveshards order by nodeport";
  return (await db.query<{ nodeport: number }>({ name: "", text })).map(({ nodeport }) => nodeport);
}

/** Drops the old copies of moved shards. Repeats that, because a copy cannot be dropped while it is in use. */
async function dropLeftShards(db: Database): Promise<void> {
  const count = "select count(*)::int as n from pg_dist_cleanup";
  while (((await db.query<{ n: number }>({ name: "", text: count }))[0]?.n ?? 0) > 0) {
    await db.query({ name: "", text: "call citus_cleanup_orphaned_resources()" });
    await setTimeout(CLEANUP_INTERVAL_MS);
  }
}

/**
 * Moves a system to the node with a port. Moves its shard of `rides`, with which Citus moves the system's shards of all
 * other tables.
 * @param mode `force_logical` keeps the system usable meanwhile; `block_writes` makes its writes wait
 */
export async function moveSystem(
  db: Database,
  systemId: string,
  port: number,
  mode: "force_logical" | "block_writes",
): Promise<void> {
  const text = `select citus_move_shard_placement(placed.shardid, here.nodename, here.nodeport, there.nodename, there.nodeport, $3)
    from pg_dist_placement placed join pg_dist_node here on here.groupid = placed.groupid
      join pg_dist_node there on there.nodeport = $2
    where placed.shardid = get_shard_id_for_distribution_column('rides', $1::text) and here.nodeport <> $2`;
  await dropLeftShards(db);
  await db.query({ name: "", text }, [systemId, port, mode]);
}
