import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { createRandom } from "@bikeshare/simulator";
import { type KillsReport, pickVictim, runKills, type Victim } from "../test/bad-days/kills.ts";

/*
 * SIGKILL of random processes under load: two API processes behind a load balancer, two workers, PostgreSQL's own
 * processes. `pnpm bad-days 1000` kills a thousand; with `--seed` as another run did.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    // Requests a second of all clients together.
    rate: { type: "string", default: "60" },
    "max-pause-ms": { type: "string", default: "1000" },
  },
});
const seed = Number(options.seed);
const startedAt = performance.now();
const seconds = () => Math.round((performance.now() - startedAt) / 1000);
const say = (text: string) => process.stdout.write(`${text}\n`);

const random = createRandom(seed);
const report = await runKills({
  victims: Array.from({ length: Number(positionals[0] ?? 100) }, () => pickVictim(random)),
  requestsPerSecond: Number(options.rate),
  maxPauseMs: Number(options["max-pause-ms"]),
  expiringShare: 0.1,
  random,
  seed,
  onProgress: (line) => say(`${seconds()} s: ${line}; load ${loadavg()[0]?.toFixed(1)}`),
});
printReport(report);
process.exitCode = report.workload.failures.length === 0 && report.check === "" ? 0 : 1;

function printReport({ kills, workload, figures, check, endedAlone }: KillsReport): void {
  say(`${kills.length} kills in ${seconds()} s on ${cpus().length} cores, seed ${seed}`);
  for (const victim of ["api", "worker", "backend", "postmaster"] as const satisfies readonly Victim[]) {
    const times = kills.filter((each) => each.victim === victim).map(({ recoveryMs }) => recoveryMs);
    say(`  ${victim}: ${times.length} kills; back after ms ${percentiles(times)}`);
  }
  const errors = [...figures.errors].map(([error, count]) => `${count} ${error}`).join(", ");
  say(`${figures.attempts} requests; without success: ${errors}; slowest ${Math.round(figures.slowestMs)} ms`);
  for (const kind of ["read", "write"] as const) {
    const gaps = figures.gaps.filter((gap) => gap.kind === kind).map(({ lengthMs }) => lengthMs);
    say(`  ${kind}s: ${gaps.length} gaps; ms ${percentiles(gaps)}`);
  }
  const { rides, reservations, events, receipts, repeated, delaysMs, failures } = workload;
  say(`${rides} rides, ${reservations} reservations, ${events} deliveries, ${receipts} receipts, ${repeated} repeated`);
  say(`delays of deliveries, ms: ${percentiles(delaysMs)}; ${endedAlone} starts failed while PostgreSQL was away`);
  for (const failure of failures.slice(0, 20)) say(`FAILED ${failure}`);
  say(failures.length === 0 ? "nothing is lost, nothing is wrong" : `${failures.length} failures`);
  say(check === "" ? "every invariant holds" : check);
}

function percentiles(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`;
}
