import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { describeErrors, describePercentiles } from "@bikeshare/load";
import { createRandom } from "@bikeshare/simulator";
import { type KillsReport, pickVictim, runKills, type Victim } from "../test/bad-days/kills.ts";
import { type BadDay, runBadDay } from "./bad-days/bad-day.ts";
import { clocks } from "./bad-days/clocks.ts";
import { connections } from "./bad-days/connections.ts";
import { failingReceiver } from "./bad-days/failing-receiver.ts";
import { failover } from "./bad-days/failover.ts";
import { frozenApi } from "./bad-days/frozen-api.ts";
import { fullDisk } from "./bad-days/full-disk.ts";
import { restarts } from "./bad-days/restarts.ts";

/*
 * Causes faults in a deployment under load: two API processes behind a load balancer, two workers and PostgreSQL. `pnpm
 * bench bad-days 1000` sends 1000 SIGKILLs to random processes, including PostgreSQL's. `--seed` repeats the choices of an
 * earlier run. `pnpm bench bad-days full-disk` causes one of the faults below, which takes a minute or two.
 */
const BAD_DAYS: Readonly<Record<string, BadDay>> = {
  "full-disk": fullDisk,
  connections,
  restarts,
  failover,
  "failing-receiver": failingReceiver,
  "frozen-api": frozenApi,
  clocks,
};
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: "string", default: "1" },
    // Requests a second from all clients together.
    rate: { type: "string", default: "60" },
    "max-pause-ms": { type: "string", default: "1000" },
  },
});
const seed = Number(options.seed);
const startedAt = performance.now();
const seconds = () => Math.round((performance.now() - startedAt) / 1000);
const say = (text: string) => process.stdout.write(`${text}\n`);

const common = {
  requestsPerSecond: Number(options.rate),
  seed,
  onProgress: (line: string) => say(`${seconds()} s: ${line}; load ${loadavg()[0]?.toFixed(1)}`),
};
const [what = "100"] = positionals;
const badDay = BAD_DAYS[what];
if (badDay !== undefined) await liveThrough(badDay);
else if (/^\d+$/.test(what)) await kill(Number(what));
else {
  say(`There is no bad day "${what}". Give a number of kills, or one of ${Object.keys(BAD_DAYS).join(", ")}.`);
  process.exitCode = 2;
}

async function kill(count: number): Promise<void> {
  const random = createRandom(seed);
  const victims = Array.from({ length: count }, () => pickVictim(random));
  const report = await runKills({
    ...common,
    victims,
    random,
    // The share of reservations that the clients let expire.
    expiringShare: 0.1,
    maxPauseMs: Number(options["max-pause-ms"]),
  });
  printKills(report);
  printOutcome(report);
  process.exitCode = report.workload.failures.length === 0 && report.check === "" ? 0 : 1;
}

async function liveThrough(day: BadDay): Promise<void> {
  const report = await runBadDay(day, common);
  const { broken, logged, workload, check } = report;
  for (const [message, lines] of logged) say(`  logged ${lines} ×: ${message}`);
  printOutcome(report);
  for (const line of broken) say(`BROKEN ${line}`);
  process.exitCode = workload.failures.length + broken.length === 0 && check === "" ? 0 : 1;
}

function printKills({ kills, endedAlone }: KillsReport): void {
  say(`${kills.length} kills in ${seconds()} s on ${cpus().length} cores, seed ${seed}`);
  for (const victim of ["api", "worker", "backend", "postmaster"] as const satisfies readonly Victim[]) {
    const times = kills.filter((each) => each.victim === victim).map(({ recoveryMs }) => recoveryMs);
    say(`  ${victim}: ${times.length} kills; back after ms ${describePercentiles(times)}`);
  }
  say(`  ${endedAlone} starts failed while PostgreSQL was away`);
}

function printOutcome({ workload, figures, check }: Pick<KillsReport, "workload" | "figures" | "check">): void {
  say(`${describeErrors(figures)}; slowest ${figures.slowestMs} ms`);
  // A gap is a time in which no read, or no write, succeeded.
  for (const [kind, gaps] of Object.entries(figures.gapsMs))
    say(`  ${kind}s: ${gaps.length} gaps; ms ${describePercentiles(gaps)}`);
  const { rides, reservations, events, receipts, repeated, delaysMs, failures } = workload;
  say(`${rides} rides, ${reservations} reservations, ${events} deliveries, ${receipts} receipts, ${repeated} repeated`);
  say(`delays of deliveries, ms: ${describePercentiles(delaysMs)}`);
  for (const failure of failures.slice(0, 20)) say(`FAILED ${failure}`);
  say(failures.length === 0 ? "nothing is lost, nothing is wrong" : `${failures.length} failures`);
  say(check === "" ? "every invariant holds" : check);
}
