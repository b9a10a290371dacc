import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { startServer } from "./processes.ts";
import { measureRates, type Rates } from "./webhooks/held-transaction.ts";
import { makeWorld } from "./webhooks/world.ts";

/*
 * Deliveries a second with and without one transaction held open, which keeps PostgreSQL from clearing away any dead row
 * of the queue. `HELD_SECONDS=180` says for how long.
 */
const SECONDS = Number(process.env["HELD_SECONDS"] ?? 180);
const ENDPOINTS = Number(process.env["HELD_ENDPOINTS"] ?? 50);

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
const receiver = await startServer(join(import.meta.dirname, "webhooks/receiver.ts"), [String(ENDPOINTS)], {});
try {
  const { urls } = JSON.parse(receiver.firstLine) as { urls: string[] };
  const countUrl = `${urls[0] ?? ""}/count`;
  const cipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);
  const world = await makeWorld(postgres.connectionString, cipher, urls);
  const load = loadavg()[0]?.toFixed(2);
  // Tables fill up and code gets warm: not to be taken for what is measured.
  await measureRates(world, cipher, { countUrl, seconds: Math.min(20, SECONDS), held: false });
  const free = await measureRates(world, cipher, { countUrl, seconds: SECONDS, held: false });
  say("free", free.rates, free.deadRows);
  const held = await measureRates(world, cipher, { countUrl, seconds: SECONDS, held: true });
  say("held", held.rates, held.deadRows);
  const again = await measureRates(world, cipher, { countUrl, seconds: SECONDS, held: false });
  say("free again", again.rates, again.deadRows);
  const [before, last] = [mean([...free.rates, ...again.rates]), held.rates.at(-1) ?? Number.NaN];
  const noise = (Math.max(...free.rates, ...again.rates) / Math.min(...free.rates, ...again.rates) - 1) * 100;
  process.stdout.write(
    `load ${load} before: ${Math.round(before)}/s free, ${Math.round(mean(held.rates))}/s with a transaction held for ` +
      `${SECONDS} s, ${Math.round(last)}/s in the last ${Math.round(SECONDS / held.rates.length)} s of it ` +
      `(${((last / before - 1) * 100).toFixed(0)} %; the free parts differ by ${noise.toFixed(0)} %)\n`,
  );
  await world.db.close();
} finally {
  await receiver.stop();
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

function say(name: string, rates: Rates, deadRows: number): void {
  process.stdout.write(`${name}: ${rates.map(Math.round).join(", ")} deliveries/s, ${deadRows} dead rows at the end\n`);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, n) => sum + n, 0) / numbers.length;
}
