import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Answer, createHttpClient, memoryMiB, percentilesOf } from "@bikeshare/load";
import { say, serve } from "../processes.ts";
import { makePartner, openContext } from "../provision.ts";
import { openDataSets } from "../reading/data-sets.ts";
import { createOthers, PAUSE_MS, reading } from "./others.ts";

/*
 * A partner reads filtered lists of all rides at the most expensive positions, within its limit of 60 requests a minute.
 * Measures what that costs another partner and the probes of a load balancer. Settings: `BENCH_RIDES`, `BENCH_SECONDS`.
 */

const RIDES = Number(process.env["BENCH_RIDES"] ?? 2_000_000);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 60);
/** Maximum p99 of another partner. */
const MAX_P99_MS = 100;
/** Concurrent requests in each burst. With the interval below, sixty a minute. */
const BURST = 10;
const BURST_INTERVAL_MS = 10_000;
/** Filters that all rides pass, except the 2 % that are cancelled. The database learns this only by reading the index. */
const FILTERS =
  "status=completed&started_after=2000-01-01T00:00:00Z&started_before=2100-01-01T00:00:00Z&updated_since=2000-01-01T00:00:00Z";

export async function heavyPartner(): Promise<void> {
  const sets = await openDataSets();
  const connectionString = await sets.of(RIDES);
  const context = openContext(connectionString);
  // Null: the default limit of 60 requests a minute.
  const heavy = await makePartner(context, "Heavy", { rateLimit: null });
  const light = await makePartner(context, "Light");
  await context.db.close();
  const dataDir = join(sets.directory, `service-${RIDES}`);
  const { url, pid, stop } = await serve({ DATABASE_URL: connectionString, DATA_DIR: dataDir });
  try {
    const paths = ["/v1/reservations", "/readyz", "/v1/rides"];
    const others = createOthers(
      url,
      light.key,
      paths.map((path) => reading(path, PAUSE_MS)),
    );
    await others.measure("quiet", Math.max(3, SECONDS / 4));
    const before = await memoryMiB(pid);
    const [answers] = await Promise.all([walk(url, heavy.key), others.measure("busy", SECONDS)]);
    const statuses = Object.groupBy(answers, ({ outcome }) => outcome);
    const counts = Object.entries(statuses).map(([outcome, all]) => `${all?.length} × ${outcome}`);
    const accepted = answers.filter(({ status }) => status === 200);
    const page = percentilesOf(accepted.map(({ startedAt, endedAt }) => endedAt - startedAt));
    say(`A partner walks filtered lists of every ride in bursts of ${BURST} a 10 s, ${SECONDS} s.`);
    say(`its answers: ${counts.join(", ")}; a page p50 ${page.p50.toFixed(1)}, max ${page.max.toFixed(1)} ms`);
    const after = await memoryMiB(pid);
    say(`memory ${before.toFixed(0)} MiB before, ${after.toFixed(0)} MiB after`);
    others.report(MAX_P99_MS);
  } finally {
    await stop();
    await sets.close();
  }
}

/** Reads pages of a filtered list of nearly all rides, in bursts. */
async function walk(url: string, key: string): Promise<Answer[]> {
  const client = createHttpClient(url, { connections: BURST });
  const ask = (more: string) => client.ask({ path: `/v1/rides?${FILTERS}&limit=200${more}`, key });
  const { total_pages: pages = 1 } = JSON.parse((await ask("")).body) as { total_pages?: number };
  const answers: Answer[] = [];
  const until = performance.now() + SECONDS * 1000;
  for (let turn = 0; performance.now() < until; turn++) {
    const next = performance.now() + BURST_INTERVAL_MS;
    // Reads around the middle, which is the most expensive position.
    const page = (n: number) => Math.ceil(pages / 2) + turn * BURST + n;
    answers.push(...(await Promise.all(Array.from({ length: BURST }, (_, n) => ask(`&page=${page(n)}`)))));
    await sleep(Math.max(0, Math.min(next, until) - performance.now()));
  }
  client.close();
  return answers;
}
