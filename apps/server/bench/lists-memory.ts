import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { memoryMiB, saturate } from "@bikeshare/load";
import { statement } from "../src/storage/db/statement.ts";
import { fillWith } from "./lists/rows.ts";
import { describeMachine, onPostgres, say, serve } from "./processes.ts";
import { makePartner, openNewSystem, type PartnerKey } from "./provision.ts";

/*
 * Measures the peak memory of `serve` (resident set, in MB of 10^6 bytes) while ten partners read 100,000 bikes and a
 * million of their reservations, first without filters, then with filters, then both. `pnpm bench lists-memory [seconds]`
 */
const [, , seconds = "45"] = process.argv;
const [PARTNERS, BIKES, RESERVATIONS, CONNECTIONS] = [10, 100_000, 1_000_000, 32];
const PATHS = ["/v1/reservations?limit=50", "/v1/bikes?limit=50"];
const FILTERED = [
  "/v1/reservations?limit=50&status=cancelled",
  "/v1/reservations?limit=50&bike_id=bike-1&created_since=2025-06-01T00:00:00Z",
  "/v1/reservations?limit=50&rider_ref=rider-1&page=20",
  "/v1/bikes?limit=50&vehicle_state=on_trip",
  "/v1/bikes?limit=50&bbox=10.7,59.9,10.75,59.95",
];

await onPostgres(async ({ directory, connectionString }) => {
  const context = await openNewSystem(connectionString);
  const partners: PartnerKey[] = [];
  for (let n = 0; n < PARTNERS; n++) partners.push(await makePartner(context, `Bench ${n}`));
  await fillWith(context.db, "bikes", BIKES);
  await fillWith(context.db, "reservations", RESERVATIONS);
  // Gives each reservation to a pseudo-random partner.
  const share = `update reservations set partner_id = ($1::text[])[1 + (('x' || substr(md5(id), 1, 6))::bit(24)::int % ${PARTNERS})]`;
  await context.db.query(statement("listsMemoryBench.share", share), [partners.map(({ partnerId }) => partnerId)]);
  await context.db.query(statement("listsMemoryBench.analyze", "vacuum (analyze)"));
  await context.db.close();
  say(describeMachine());
  const service = await serve({ DATABASE_URL: connectionString, DATA_DIR: join(directory, "service") });
  const load = async (name: string, paths: readonly string[]) => {
    let [peak, isOver] = [0, false];
    const reading = saturate(
      { base: service.url, paths, keys: partners.map(({ key }) => key), isTolerant: true },
      CONNECTIONS,
      Number(seconds),
    ).finally(() => (isOver = true));
    for (; !isOver; await sleep(100)) peak = Math.max(peak, await memoryMiB(service.pid));
    const { requests } = await reading;
    // A MiB has 1.048576 MB.
    say(`${name}: at most ${Math.round(peak * 1.048576)} MB, ${requests} answers of 200`);
  };
  try {
    await load("without filters", PATHS);
    await load("with filters", FILTERED);
    await load("all", [...PATHS, ...FILTERED]);
  } finally {
    await service.stop();
  }
});
