import { countRides } from "../../src/city/counts/service.ts";
import { startPeriodic } from "../../src/storage/background/periodic.ts";
import type { Database } from "../../src/storage/db/database.ts";

const INTERVAL_MS = 50;

/** Starts rides at a rate and ends each a few seconds later, to write while lists are read. */
export function startWriting(db: Database, ridesPerSecond: number): { close(): Promise<void> } {
  const rows = Math.max(1, Math.round((ridesPerSecond * INTERVAL_MS) / 1000));
  let made = 0;
  return startPeriodic({
    intervalMs: INTERVAL_MS,
    onError: (error) => process.stderr.write(`${String(error)}\n`),
    work: () =>
      db.transaction(async (tx) => {
        const now = Date.now();
        made++;
        await tx.query(
          {
            name: "bench.start",
            text: `insert into rides (system_id, id, bike_id, status, start_station_id, started_at, updated_at, source)
              select 'main', $1 || i, 'growing-' || $1 || i, 'started', 'station-0001', $2::timestamptz, $2::timestamptz, 'bench'
              from generate_series(1, $3::int) as i`,
          },
          [`${now}-${made}-`, new Date(now), rows],
        );
        await tx.query(
          {
            name: "bench.end",
            text: `update rides set status = 'completed', ended_at = $1::timestamptz, updated_at = $1::timestamptz, end_station_id = 'station-0002'
              where system_id = 'main' and status = 'started' and started_at < $1::timestamptz - interval '5 s'`,
          },
          [new Date(now)],
        );
        // Writes to the 16 slots of the counts in turn.
        countRides(tx, "main", made % 16, { inserted: Array.from({ length: rows }, () => now) });
      }),
  });
}
