import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMicroseconds, createHttpClient, fillCity, median } from "@bikeshare/load";
import { FEED_MIN_AGE_MS } from "../src/feeds/gbfs-out/routes.ts";
import { describeMachine, onPostgres, say, serve } from "./processes.ts";
import { makeOperatorKey, openNewSystem } from "./provision.ts";

/*
 * Measures how long the GBFS documents of a large city take to be built again after a bike has changed, until a client has
 * received them completely: `pnpm bench gbfs-documents [stations] [bikes]`. The environment variable
 * `BENCH_REPETITIONS` says how often each document is measured.
 */
const [, , stations = "10000", bikes = "100000"] = process.argv;
const REPETITIONS = Number(process.env["BENCH_REPETITIONS"] ?? 20);
const DOCUMENTS = ["vehicle_status", "station_status"] as const;

await onPostgres(async ({ directory, connectionString }) => {
  const context = await openNewSystem(connectionString);
  const key = await makeOperatorKey(context);
  await context.db.close();
  const env = { DATABASE_URL: connectionString, DATA_DIR: join(directory, "service") };
  const service = await serve({ ...env, PUBLIC_RATE_LIMIT_PER_MINUTE: "1000000" });
  const client = createHttpClient(service.url, { connections: 1 });
  try {
    await fillCity(service.url, key, { stations: Number(stations), bikes: Number(bikes), rides: 0 }, 1);
    say(describeMachine());
    for (const name of DOCUMENTS) {
      const elapsedMs: number[] = [];
      const cpuUs: number[] = [];
      let bytes = 0;
      for (let n = 0; n < REPETITIONS; n++) {
        const body = JSON.stringify({ items: [{ id: "bike-0001", current_range_meters: n }] });
        const { status } = await client.ask({ method: "POST", path: "/operator/v1/bikes", key, body });
        if (status !== 200) throw new Error(`the bike was not changed: ${status}`);
        // A younger document is not built again.
        await sleep(FEED_MIN_AGE_MS);
        const [begun, before] = [performance.now(), await cpuMicroseconds(service.pid)];
        ({ bytes } = await client.ask({ path: `/gbfs/3.0/${name}.json` }));
        elapsedMs.push(performance.now() - begun);
        cpuUs.push((await cpuMicroseconds(service.pid)) - before);
      }
      const [elapsed, cpu] = [Math.round(median(elapsedMs)), Math.round(median(cpuUs) / 1000)];
      say(`${name}, ${(bytes / 1e6).toFixed(1)} MB: ${elapsed} ms, of the service's processor ${cpu} ms`);
    }
  } finally {
    client.close();
    await service.stop();
  }
});
