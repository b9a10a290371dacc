import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryMiB } from "@bikeshare/load";
import { statement } from "../src/storage/db/statement.ts";
import { hostileStations } from "../test/gbfs/hostile-stations.ts";
import { onPostgres, say, serve } from "./processes.ts";
import { openContext } from "./provision.ts";

/*
 * Measures the memory of `serve` while it follows a feed that has 45,000 different stations in every round: the peak of its
 * resident set, after each round. `pnpm bench hostile-stations [rounds] [stations] [bytes of each name]`
 */
const countStations = statement("hostileBench.countStations", "select count(*)::int as n from stations");
const [, , rounds = "6", stations = "45000", nameBytes = "100"] = process.argv;

await onPostgres(async ({ directory, connectionString }) => {
  const feed = await hostileStations({ stations: Number(stations), nameBytes: Number(nameBytes) });
  const following = { GBFS_SYNC_URL: feed.url, GBFS_SYNC_EVERY: "1s" };
  const env = { DATABASE_URL: connectionString, DATA_DIR: join(directory, "service"), ...following };
  const service = await serve(env);
  const { db } = openContext(connectionString);
  try {
    for (let seen = 0; seen <= Number(rounds); await sleep(20)) {
      // A round has ended when the next one begins.
      if (feed.rounds() === seen) continue;
      const [row] = await db.query<{ n: number }>(countStations, []);
      const peak = Math.round(await memoryMiB(service.pid, "VmHWM"));
      say(`after ${seen} rounds: ${row?.n} stations stored, at most ${peak} MiB`);
      seen = feed.rounds();
    }
  } finally {
    await db.close();
    await service.stop();
    await feed.close();
  }
});
