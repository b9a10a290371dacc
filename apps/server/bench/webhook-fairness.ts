import { chmod, mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbeddedPostgres } from "@bikeshare/embedded-postgres";
import { createSecretCipher } from "../src/webhooks/endpoints/secret.ts";
import { startServer } from "./processes.ts";
import { addHealthy, measurePhase } from "./webhooks/fairness.ts";
import { makeWorld } from "./webhooks/world.ts";

/*
 * One endpoint that answers at once, with a steady trickle of events, beside 100 that hang for 15 s while 100,000
 * deliveries wait for them. The two are measured in turns, because machines have moods: without, with, without, with.
 */
const HANGING = Number(process.env["FAIRNESS_ENDPOINTS"] ?? 100);
const BACKLOG = Number(process.env["FAIRNESS_BACKLOG"] ?? 100_000);
const PER_SECOND = Number(process.env["FAIRNESS_PER_SECOND"] ?? 100);
const SECONDS = Number(process.env["FAIRNESS_SECONDS"] ?? 60);
const REPETITIONS = Number(process.env["FAIRNESS_ROUNDS"] ?? 2);

const directory = await mkdtemp(join(tmpdir(), "bikeshare-bench-"));
// As root PostgreSQL runs under another account, which must be able to enter.
await chmod(directory, 0o711);
const postgres = await openEmbeddedPostgres({ dataDir: join(directory, "data"), log: () => undefined });
const hanging = await startServer(join(import.meta.dirname, "webhooks/fairness-receiver.ts"), [], {});
const quick = await startServer(join(import.meta.dirname, "webhooks/receiver.ts"), ["1", "--arrivals"], {});
try {
  const { urls } = JSON.parse(quick.firstLine) as { urls: string[] };
  const [url = ""] = urls;
  const cipher = createSecretCipher([{ id: 1, key: Buffer.alloc(32, 7) }]);
  const far = Array.from({ length: HANGING }, (_, i) => `${hanging.firstLine}/hooks/${i}`);
  const world = await makeWorld(postgres.connectionString, cipher, far);
  const healthy = await addHealthy(world, cipher, url);
  const load = loadavg()[0]?.toFixed(2);
  const without: number[] = [];
  const beside: number[] = [];
  for (let round = 0; round < REPETITIONS; round++) {
    for (const backlog of [0, BACKLOG]) {
      const delays = await measurePhase(world, cipher, healthy, { backlog, perSecond: PER_SECOND, seconds: SECONDS });
      (backlog === 0 ? without : beside).push(...delays);
      process.stdout.write(`round ${round + 1}, ${backlog} waiting: ${describe(delays)}\n`);
    }
  }
  const rise = (at(beside, 0.99) / at(without, 0.99) - 1) * 100;
  process.stdout.write(`load ${load} before; without: ${describe(without)}; beside: ${describe(beside)}\n`);
  process.stdout.write(
    `${rise <= 10 ? "HOLDS" : "BROKEN"}: p99 of the healthy endpoint ${at(without, 0.99).toFixed(1)} ms without and ` +
      `${at(beside, 0.99).toFixed(1)} ms beside ${HANGING} hanging ones (${rise.toFixed(0)} %)\n`,
  );
  await world.db.close();
} finally {
  await hanging.stop();
  await quick.stop();
  await postgres.close();
  await rm(directory, { recursive: true, force: true });
}

function at(delays: readonly number[], share: number): number {
  return delays.toSorted((a, b) => a - b)[Math.floor(share * (delays.length - 1))] ?? Number.NaN;
}

function describe(delays: readonly number[]): string {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => at(delays, share).toFixed(1));
  return `${delays.length} events, p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms`;
}
