/*
 * How much memory a process takes that follows a feed which names other stations (45,000) in every round: its resident set
 * at the most (VmHWM, so Linux alone), after each round.
 *
 *   node --conditions=@bikeshare/source bench/hostile-stations.ts [rounds] [bytes of each name] [stations]
 *
 * BENCH_DATABASE_URL names a PostgreSQL server whose maintenance database it may use; without it, ours is started.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { openDatabase } from "../src/db/database.ts";
import { migrate } from "../src/db/migrate/migrate.ts";
import { startFollowing } from "../src/feeds/gbfs/follow.ts";
import { createIds } from "../src/ids.ts";
import { createSystem } from "../src/systems/service.ts";
import { hostileStations } from "../test/gbfs/hostile-stations.ts";
import { runOnServer, withDatabaseName } from "../test/server-commands.ts";

const [, , first = "5", nameBytes = "100", count = "45000", connectionString, url] = process.argv;
if (connectionString !== undefined && url !== undefined) await follow(connectionString, url, Number(first));
else await measure(Number(first), Number(nameBytes), Number(count));

/** In the process that is measured. */
async function follow(connection: string, feed: string, rounds: number): Promise<void> {
  const db = openDatabase({ connectionString: connection });
  const clock = () => Date.now();
  const done = Promise.withResolvers<undefined>();
  let round = 0;
  const following = startFollowing({
    ...{ db, clock, ids: createIds(clock), url: feed, intervalMs: 100, systemId: "main", source: "hostile" },
    reportDirectory: join(tmpdir(), `hostile-${process.pid}`),
    log({ outcome, stations, failures }) {
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
      const why = failures[0]?.message.slice(0, 60) ?? "";
      console.log(`${outcome} ${stations?.created ?? 0} new ${why}: at most ${Math.round(Number(peak) / 1024)} MiB`);
      if (++round === rounds) done.resolve(undefined);
    },
  });
  await done.promise;
  await following.close();
  await db.close();
}

async function measure(rounds: number, bytes: number, each: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
  const given = process.env["BENCH_DATABASE_URL"];
  const own =
    given === undefined
      ? await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined })
      : undefined;
  const serverUrl = given ?? own?.connectionString ?? "";
  const name = `hostile_bench_${process.pid}`;
  await runOnServer(serverUrl, `create database ${name}`);
  const connection = withDatabaseName(serverUrl, name);
  const server = await hostileStations({ stations: each, nameBytes: bytes });
  try {
    const db = openDatabase({ connectionString: connection });
    await migrate(db);
    await createSystem(db, "main", "Bench", 0);
    await db.close();
    const child = fork(import.meta.filename, [`${rounds}`, `${bytes}`, `${each}`, connection, server.url], {
      execArgv: process.execArgv,
    });
    await once(child, "exit");
  } finally {
    await server.close();
    await runOnServer(serverUrl, `drop database ${name} with (force)`);
    await own?.close();
    await rm(directory, { recursive: true, force: true });
  }
}
