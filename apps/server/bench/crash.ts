import { runCrashes } from "../test/webhooks/crash/run.ts";

/*
 * Kills workers and PostgreSQL by SIGKILL at random points under load, `CRASH_KILLS=200` times. A worker sends an endpoint's
 * deliveries under a lease. After `CRASH_LEASES=5` of the worker kills the lease expires by itself (26 s each), after the
 * others this bench ends it.
 */
const kills = Number(process.env["CRASH_KILLS"] ?? 200);
const trueLeases = Number(process.env["CRASH_LEASES"] ?? 5);
const from = performance.now();
/** The most seconds until the deliveries that a killed worker had claimed are due again or sent. */
const MAX_DUE_AGAIN_SECONDS = 30;

const report = await runCrashes({
  kills,
  trueLeases,
  endpoints: 8,
  eventsPerSecond: 25,
  random: Math.random,
  onProgress: (line) => process.stdout.write(`${Math.round((performance.now() - from) / 1000)} s: ${line}\n`),
});

const dueAgain = report.dueAgain.map((seconds) => seconds.toFixed(1)).join(", ");
const isNothingLost = report.eventsLost + report.deliveriesLost === 0;
const isLogRight = report.notAsLogged + report.notInLog + report.gapsInLog === 0;
const isProof =
  isNothingLost &&
  isLogRight &&
  // A delivery may arrive twice only after an attempt whose result is unknown.
  report.repeats <= report.unknown &&
  report.dueAgain.every((seconds) => seconds <= MAX_DUE_AGAIN_SECONDS);
process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
process.stdout.write(
  `${isProof ? "HOLDS" : "BROKEN"}: ${report.workerKills} kills of workers, ${report.postgresKills} of PostgreSQL; ` +
    `${report.deliveries} deliveries, ${report.eventsLost + report.deliveriesLost} lost, ${report.repeats} repeats ` +
    `(${report.claimedAtKills} claimed at kills, ${report.unknown} marked unknown); due again after ${dueAgain} s\n`,
);
process.exitCode = isProof ? 0 : 1;
