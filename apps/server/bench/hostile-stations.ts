/*
 * How much memory `serve` takes while it follows a feed that names other stations (45,000) in every round: its resident set
 * at the most (VmHWM, so Linux alone), after each round. The second kind of feed names as many as a document may have.
 *
 *   node --conditions=@bikeshare/source bench/hostile-stations.ts [rounds] [stations] [bytes of each name]
 *
 * BENCH_DATABASE_URL names a PostgreSQL server whose maintenance database it may use; without it, ours is started.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { openDatabase } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { hostileStations } from "../test/gbfs/hostile-stations.ts";
import { runOnServer, withDatabaseName } from "../test/server-commands.ts";

const countStations = statement("hostileBench.countStations", "select count(*)::int as n from stations");
const [, , rounds = "6", stations = "45000", nameBytes = "100"] = process.argv;
const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
const given = process.env["BENCH_DATABASE_URL"];
const own =
  given === undefined
    ? await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined })
    : undefined;
const serverUrl = given ?? own?.connectionString ?? "";
const name = `hostile_bench_${process.pid}`;
const connectionString = withDatabaseName(serverUrl, name);
await runOnServer(serverUrl, `create database ${name}`);
const feed = await hostileStations({ stations: Number(stations), nameBytes: Number(nameBytes) });
try {
  await measure();
} finally {
  await feed.close();
  await runOnServer(serverUrl, `drop database ${name} with (force)`);
  await own?.close();
  await rm(directory, { recursive: true, force: true });
}

async function measure(): Promise<void> {
  const program = join(import.meta.dirname, "../bikeshare.mjs");
  const words = ["--max-semi-space-size=8", "--conditions=@bikeshare/source", program, "serve"];
  const settings = { DATABASE_URL: connectionString, DATA_DIR: directory, PORT: "0", DRAIN_DELAY: "0s" };
  const following = { LOG_LEVEL: "error", GBFS_SYNC_URL: feed.url, GBFS_SYNC_EVERY: "1s" };
  const serve = spawn(process.execPath, words, {
    env: { ...process.env, ...settings, ...following },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const exited = once(serve, "exit");
  const db = openDatabase({ connectionString });
  try {
    for (let seen = 0; seen <= Number(rounds) && serve.exitCode === null; await sleep(20)) {
      // A round has ended when the next begins.
      if (feed.rounds() === seen) continue;
      const status = await readFile(`/proc/${serve.pid}/status`, "utf8");
      const peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
      const [row] = await db.query<{ n: number }>(countStations, []);
      console.log(`after ${seen} rounds: ${row?.n} stations stored, at most ${Math.round(peak)} MiB`);
      seen = feed.rounds();
    }
  } finally {
    await db.close();
    serve.kill("SIGTERM");
    await exited;
  }
}
