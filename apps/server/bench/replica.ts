import { setTimeout as sleep } from "node:timers/promises";
import { type PostgresServer, startReplicatedPostgres } from "@bikeshare/embedded-postgres/testing";
import { cpuMicroseconds, createHttpClient, median, saturate } from "@bikeshare/load";
import { findFreePort } from "@bikeshare/test-kit";
import { fillWithRides } from "./dataset.ts";
import { inDirectory, say } from "./processes.ts";
import { openNewSystem } from "./provision.ts";
import { type MeasuredService, startService } from "./reading/service.ts";

/*
 * What a replica takes from the primary, and what asking for positions costs: pages by cursor from anywhere in the list, with
 * and without DATABASE_REPLICA_URL in turn, while nobody writes and while somebody does. Run
 * `pnpm bench replica` with nothing beside it.
 */

const RIDES = 200_000;
const SECONDS = 4;
const REPETITIONS = 3;
const CONNECTIONS = 32;
const WRITES_A_SECOND = 200;

const postgres = await startReplicatedPostgres();
const { db } = await openNewSystem(postgres.primaryUrl);
await fillWithRides(db, RIDES);
await db.transaction((tx) => tx.run("analyze"));
await postgres.caughtUp();
const metricsPort = await findFreePort();
const metrics = createHttpClient(`http://127.0.0.1:${metricsPort}`, { connections: 1 });
await inDirectory(async (directory) => {
  const alone = await startService(postgres.primaryUrl, directory, { args: ["--role", "api"] });
  const replicated = await startService(postgres.primaryUrl, directory, {
    args: ["--role", "api"],
    env: { DATABASE_REPLICA_URL: postgres.replicaUrl, METRICS_PORT: `${metricsPort}` },
  });
  // It uses the replica from its first good answer on.
  await sleep(2_000);
  await compare(alone, replicated);
  await Promise.all([alone.stop(), replicated.stop()]);
});
metrics.close();
await db.close();
await postgres.close();

interface Sample {
  readonly requests: number;
  /** Percent of the reads that the replica answered. */
  readonly share: number;
  /** Microseconds of processor time a request. */
  readonly service: number;
  readonly primary: number;
  readonly replica: number;
}

async function postgresCpu(server: PostgresServer): Promise<number> {
  const processes = await server.run<{ pid: number }>("select pid from pg_stat_activity where pid <> pg_backend_pid()");
  const used = await Promise.all(processes.map(({ pid }) => cpuMicroseconds(pid)));
  return used.filter((each) => !Number.isNaN(each)).reduce((sum, each) => sum + each, 0);
}

/** Reads that the replica has answered so far. */
async function answeredByReplica(): Promise<number> {
  const { body } = await metrics.ask({ path: "/metrics" });
  return Number(/^bikeshare_replica_reads_total\{outcome="replica"\} (\d+)$/m.exec(body)?.[1]);
}

async function measure(service: MeasuredService): Promise<Sample> {
  const positions = Array.from({ length: 500 }, (_, n) => ({
    started_at: new Date(Date.parse("2025-12-31T23:45:00.000Z") - n * 6_000_000).toISOString(),
    id: "z",
  }));
  const subject = service.subject("", positions.map(service.after));
  const cpu = async () =>
    Promise.all([cpuMicroseconds(service.pid), postgresCpu(postgres.primary()), postgresCpu(postgres.replica())]);
  const answered = await answeredByReplica();
  const before = await cpu();
  const { requests, seconds } = await saturate(subject, CONNECTIONS, SECONDS);
  const after = await cpu();
  const [own = 0, primary = 0, replica = 0] = after.map((used, index) => (used - (before[index] ?? 0)) / requests);
  const share = (100 * ((await answeredByReplica()) - answered)) / requests;
  return { requests: requests / seconds, share, service: own, primary, replica };
}

/** Writes one row at a time, until it is stopped. */
function startWriter(): () => Promise<void> {
  let isStopped = false;
  const write = async () => {
    while (!isStopped) {
      await db.transaction((tx) => tx.run("update systems set name = name where system_id = 'main'"));
      await sleep(1_000 / WRITES_A_SECOND);
    }
  };
  const writing = write();
  return () => {
    isStopped = true;
    return writing;
  };
}

function show(name: string, samples: readonly Sample[]): void {
  const of = (key: keyof Sample) => String(Math.round(median(samples.map((each) => each[key])))).padStart(7);
  say(`${name.padEnd(32)}${of("requests")}${of("share")}%${of("service")}${of("primary")}${of("replica")}`);
}

async function compare(alone: MeasuredService, replicated: MeasuredService): Promise<void> {
  say(`${"".padEnd(32)} req/s replica service primary replica (µs of processor time a request)`);
  for (const isWritten of [false, true]) {
    const stop = isWritten ? startWriter() : () => Promise.resolve();
    const samples = { alone: [] as Sample[], replicated: [] as Sample[] };
    for (let n = 0; n < REPETITIONS; n++) {
      samples.alone.push(await measure(alone));
      samples.replicated.push(await measure(replicated));
    }
    await stop();
    const when = isWritten ? `${WRITES_A_SECOND} writes/s` : "no writes";
    show(`${when}, without a replica`, samples.alone);
    show(`${when}, with a replica`, samples.replicated);
  }
}
