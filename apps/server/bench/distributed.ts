import { exec } from "node:child_process";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import {
  createLedger,
  createRequests,
  describeErrors,
  figuresOf,
  startWorkload,
  verifyWorkload,
  type Workload,
} from "@bikeshare/load";
import { findFreePort } from "@bikeshare/test-kit";
import { type Database, openDatabase } from "../src/storage/db/database.ts";
import { superviseService } from "../test/bad-days/service-process.ts";
import { HOLDERS, listPorts, type LoadedSystem, moveSystem, prepareSystems, RIDERS } from "./distributed/systems.ts";
import { brokenInvariants, inDirectory, say } from "./processes.ts";

/*
 * Loads two systems of a distributed database, each on its own machine. One system is moved to the other machine and back.
 * Then one machine is stopped and started again. Requests are counted for each system separately. At the end, all
 * acknowledged changes must exist, and every event must have arrived.
 *
 *   pnpm bench distributed --url postgres://…/bikeshare --break 'pg_ctl … stop -m immediate' --mend 'pg_ctl … start'
 *
 * The database must be empty, on a Citus coordinator with two active nodes for shards (citus_add_node). The two commands
 * stop and start the second node in the order of ports. Without them no machine is stopped. The exit status is 1 if
 * something was lost or wrong.
 */
const { values } = parseArgs({
  options: {
    url: { type: "string" },
    // Requests a second to each system.
    rate: { type: "string", default: "20" },
    // Seconds of each phase, except those in which a system moves or a machine is mended.
    seconds: { type: "string", default: "10" },
    break: { type: "string" },
    mend: { type: "string", default: "" },
    seed: { type: "string", default: "1" },
  },
});
const { url: databaseUrl, break: breakCommand, mend: mendCommand } = values;
if (databaseUrl === undefined) throw new Error("--url names the coordinator's database");
const READERS = 3;
/** How Citus moves shards: by logical replication, so that they can be written meanwhile. */
const TRANSFER = "force_logical";

/** A system whose clients send requests. */
interface LoadedService extends LoadedSystem {
  readonly workload: Workload;
}

const began = performance.now();
const progress = (line: string) =>
  void process.stderr.write(`${Math.round((performance.now() - began) / 1_000)} s: ${line}\n`);

const failures = await inDirectory(async (directory) => {
  const secretsFile = join(directory, "secrets.json");
  const port = await findFreePort();
  const loopback = { WEBHOOK_ALLOW_NETWORKS: "127.0.0.0/8", WEBHOOK_ALLOW_PORTS: "1-65535" };
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: directory, SECRETS_FILE: secretsFile, ...loopback };
  const systems = await prepareSystems({ databaseUrl, secretsFile, onProgress: progress });
  const services = [superviseService("api", { ...env, PORT: `${port}` }), superviseService("worker", env)];
  const db = openDatabase({ connectionString: databaseUrl, statementTimeoutMs: 0, maxConnections: 1 });
  try {
    await Promise.all(services.map((service) => service.untilUp()));
    const base = `http://127.0.0.1:${port}`;
    const loads = systems.map((system, index) => startLoad(base, system, index));
    await runPhases(db, loads);
    progress("verifying");
    await Promise.all(loads.map(({ workload }) => workload.stop()));
    const found: string[] = [];
    for (const load of loads) found.push(...(await verify(base, load, env)));
    return found;
  } finally {
    await db.close();
    await Promise.all(services.map((service) => service.stop()));
    await Promise.all(systems.map(({ receiver }) => receiver.close()));
  }
});
for (const failure of failures.slice(0, 20)) say(`FAILED ${failure}`);
say(failures.length === 0 ? "HOLDS" : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;

function startLoad(base: string, system: LoadedSystem, index: number): LoadedService {
  const workload = startWorkload({
    base,
    system: system.prepared,
    ledger: createLedger(createRequests(base)),
    requestsPerSecond: Number(values.rate),
    seed: Number(values.seed) + index,
    riders: RIDERS,
    holders: HOLDERS,
    readers: READERS,
  });
  return { ...system, workload };
}

/** Runs the phases one after another, and prints what each system's clients saw in each. */
async function runPhases(db: Database, loads: readonly LoadedService[]): Promise<void> {
  say("| phase | system | attempts | p50, p99, slowest ms | longest without an answer: reads, writes ms |");
  say("|---|---|---|---|---|");
  const phase = async (title: string, work: () => Promise<unknown>) => {
    progress(title);
    const from = performance.now();
    await work();
    const to = performance.now();
    for (const { systemId, workload } of loads) {
      const figures = figuresOf(workload.ledger.requests.attempts, from, to);
      const { p50Ms, p99Ms, slowestMs, longestGapMs } = figures;
      const what = `${title} (${((to - from) / 1_000).toFixed(1)} s) | ${systemId} | ${describeErrors(figures)}`;
      say(`| ${what} | ${p50Ms}, ${p99Ms}, ${slowestMs} | ${longestGapMs.read}, ${longestGapMs.write} |`);
    }
  };
  const run = promisify(exec);
  const wait = () => setTimeout(Number(values.seconds) * 1_000);
  // Each machine's database is named by its port. The first system is on the first machine, the second on the second.
  const [firstPort = 0, secondPort = 0] = await listPorts(db);
  await phase("nothing is done", wait);
  await phase("second moves to first's machine", () => moveSystem(db, "second", firstPort, TRANSFER));
  await phase("both on one machine", wait);
  await phase("second moves back", () => moveSystem(db, "second", secondPort, TRANSFER));
  if (breakCommand !== undefined) {
    await phase("second's machine breaks", async () => {
      await run(breakCommand);
      await wait();
    });
    await phase("it is mended", async () => {
      await run(mendCommand);
      await Promise.all(loads.map(({ workload }) => workload.ledger.requests.untilServed()));
    });
  }
  await phase("nothing is done any more", wait);
}

/** Checks the data after a load. @returns what is wrong */
async function verify(base: string, load: LoadedService, env: Readonly<Record<string, string>>): Promise<string[]> {
  const { systemId, prepared, receiver, workload } = load;
  const { partnerKeys } = prepared;
  const report = await verifyWorkload({ base, partnerKeys, ledger: workload.ledger, receiver });
  const { rides, reservations, events, repeated } = report;
  say(`${systemId}: ${rides} rides, ${reservations} reservations, ${events} deliveries, ${repeated} repeated`);
  const broken = await brokenInvariants(env, ["--system", systemId]);
  return [...report.failures, ...(broken === "" ? [] : [broken])].map((failure) => `${systemId}: ${failure}`);
}
