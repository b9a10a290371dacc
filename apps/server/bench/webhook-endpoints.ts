import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { openDatabase } from "../src/storage/db/database.ts";
import { statement } from "../src/storage/db/statement.ts";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { startServer } from "./processes.ts";
import { ours } from "./webhooks/ours.ts";
import { processorTime } from "./webhooks/processor-time.ts";
import { makeWorld } from "./webhooks/world.ts";

/*
 * What a delivery costs as the number of endpoints grows, each an origin of its own: the same number of deliveries to 1
 * endpoint up to 1,000. `node --conditions=@bikeshare/source apps/server/bench/webhook-endpoints.ts` runs it.
 */
const COUNTS = (process.env["ENDPOINT_COUNTS"] ?? "1,10,100,1000").split(",").map(Number);
const DELIVERIES = Number(process.env["ENDPOINT_DELIVERIES"] ?? 10_000);

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
try {
  process.stdout.write(
    `${DELIVERIES} deliveries, load ${loadavg()[0]?.toFixed(2)} before; µs of processor time of a delivery\n`,
  );
  process.stdout.write(
    "| endpoints | deliveries/s | sender µs | PostgreSQL µs | receiver µs |\n|---|---|---|---|---|\n",
  );
  // The first warms up.
  await measure(50);
  for (const endpoints of COUNTS) process.stdout.write(`| ${endpoints} | ${await measure(endpoints)} |\n`);
} finally {
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

/** @returns the cells of one row */
async function measure(endpoints: number): Promise<string> {
  const name = `bench_${endpoints}`;
  const admin = openDatabase({ connectionString: postgres.connectionString });
  await admin.query(statement("", `drop database if exists ${name}`));
  await admin.query(statement("", `create database ${name}`));
  await admin.close();
  const address = new URL(postgres.connectionString);
  address.pathname = `/${name}`;
  const receiver = await startServer(join(import.meta.dirname, "webhooks/receiver.ts"), [String(endpoints)], {});
  const { urls } = JSON.parse(receiver.firstLine) as { urls: string[] };
  const cipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);
  const world = await makeWorld(address.href, cipher, urls);
  try {
    const contestant = ours(world, cipher);
    await contestant.prepare(DELIVERIES);
    const before = await processorTime(world.db, receiver.pid);
    const from = performance.now();
    const running = await contestant.start();
    for (let count = 0; count < DELIVERIES;) {
      await wait(20);
      count = (await (await fetch(`${urls[0]}/count`)).json()) as number;
    }
    const seconds = (performance.now() - from) / 1000;
    const after = await processorTime(world.db, receiver.pid);
    await running.stop();
    const spent = (["sender", "postgres", "receiver"] as const).map(
      (side) => (after[side] - before[side]) / DELIVERIES,
    );
    return [DELIVERIES / seconds, ...spent].map((each) => each.toFixed(0)).join(" | ");
  } finally {
    await world.db.close();
    await receiver.stop();
  }
}
