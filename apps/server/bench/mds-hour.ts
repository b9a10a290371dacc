import { join } from "node:path";
import { MDS_MEDIA_TYPE } from "@bikeshare/contract/mds";
import { memoryMiB } from "@bikeshare/load";
import { createAgency } from "../src/feeds/mds/agencies.ts";
import { statement } from "../src/storage/db/statement.ts";
import { describeMachine, onPostgres, say, serve } from "./processes.ts";
import { NO_LIMIT, openNewSystem, SYSTEM_ID } from "./provision.ts";

/*
 * Measures the memory of `serve` while an agency reads one hour with many trips: its resident set in MB of 10^6 bytes,
 * before and at its peak. `pnpm bench mds-hour [trips]`
 */
const TRIPS = Number(process.argv[2] ?? 100_000);
const HOUR_MS = 3_600_000;

const insertTrips = statement(
  "mdsHourBench.insertTrips",
  `insert into rides (system_id, source, id, bike_id, status, started_at, ended_at, duration_seconds, distance_meters,
     start_lat, start_lon, end_lat, end_lon, updated_at)
   select $1, 'operator', 'ride-' || n, 'bike-' || n % 5000, 'completed', $2::timestamptz,
     $2::timestamptz + n % 3600 * interval '1 second', n % 3600, n % 9000, 59.9, 10.7, 59.91, 10.71, $2::timestamptz
   from generate_series(1, $3::int) as n`,
);
// An agency reads hours since the log of vehicle events began. It begins when the agency is created.
const beginEarlier = statement("mdsHourBench.beginEarlier", "update mds_providers set logged_since = $1::timestamptz");
const analyze = statement("mdsHourBench.analyze", "vacuum (analyze) rides");

await onPostgres(async ({ directory, connectionString }) => {
  const context = await openNewSystem(connectionString);
  // The full hour four hours ago.
  const hour = new Date(Math.floor(Date.now() / HOUR_MS - 4) * HOUR_MS);
  const agency = await createAgency(context, SYSTEM_ID, { name: "City", rateLimit: NO_LIMIT });
  await context.db.query(beginEarlier, [hour]);
  await context.db.query(insertTrips, [SYSTEM_ID, hour, TRIPS]);
  await context.db.query(analyze, []);
  await context.db.close();
  say(describeMachine());
  const service = await serve({ DATABASE_URL: connectionString, DATA_DIR: join(directory, "service"), MDS: "on" });
  // A MiB has 1.048576 MB.
  const megabytes = async () => (await memoryMiB(service.pid)) * 1.048576;
  try {
    for (const encoding of ["identity", "gzip"]) {
      const before = await megabytes();
      const begun = performance.now();
      const authorization = `Bearer ${agency.key.key}`;
      const headers = { accept: MDS_MEDIA_TYPE, authorization, "accept-encoding": encoding };
      const path = `/mds/trips?end_time=${hour.toISOString().slice(0, 13)}`;
      const response = await fetch(service.url + path, { headers });
      let [peak, trips, rest] = [0, 0, ""];
      const decoder = new TextDecoder();
      for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
        peak = Math.max(peak, await megabytes());
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('"trip_id"');
        trips += parts.length - 1;
        // The next chunk may begin in the middle of `"trip_id"`, so the last characters are searched again with it.
        rest = (parts.at(-1) ?? "").slice(-10);
      }
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      say(`${encoding}: ${trips} trips in ${seconds} s, from ${Math.round(before)} to at most ${Math.round(peak)} MB`);
    }
  } finally {
    await service.stop();
  }
});
