import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startReplicatedPostgres } from "@bikeshare/embedded-postgres/testing";
import { createHttpClient, type HttpClient } from "@bikeshare/load";
import { findFreePort } from "@bikeshare/test-kit";
import { fillWithRides } from "../dataset.ts";
import { inDirectory } from "../processes.ts";
import { type BenchContext as Provisioned, openNewSystem } from "../provision.ts";
import { type BenchContext, spreadPositions } from "./benches.ts";
import { measure } from "./measure.ts";
import { report } from "./report.ts";
import { startService } from "./service.ts";

/*
 * Measures how much work a replica takes from the primary, and what it costs to ask for WAL positions, by
 * which the service knows whether the replica is recent enough. Reads pages by cursor
 * from anywhere in the list, with and without DATABASE_REPLICA_URL in turns: first without concurrent writes, then with
 * them. PostgreSQL's time is that of the primary.
 */

/** The rides in the list, and the pause between two writes. */
const RIDES = 200_000;
const WRITE_INTERVAL_MS = 5;

/** Measures the service with and without a replica. @returns the report */
export async function replicaBench({ repetitions, seconds, connections }: BenchContext): Promise<string> {
  const postgres = await startReplicatedPostgres();
  const context = await openNewSystem(postgres.primaryUrl);
  await fillWithRides(context.db, RIDES);
  await context.db.transaction((tx) => tx.run("analyze"));
  await postgres.caughtUp();
  const metricsPort = await findFreePort();
  const metrics = createHttpClient(`http://127.0.0.1:${metricsPort}`, { connections: 1 });
  const text = await inDirectory(async (directory) => {
    const args = ["--role", "api"];
    const env = { DATABASE_REPLICA_URL: postgres.replicaUrl, METRICS_PORT: `${metricsPort}` };
    const alone = await startService(postgres.primaryUrl, join(directory, "service"), { args });
    // Shares the directory, and so the secret of cursors.
    const replicated = await startService(postgres.primaryUrl, join(directory, "service"), { args, env });
    // Waits until the service uses the replica, which it does after the replica's first successful response.
    await sleep(2_000);
    const lines: string[] = [];
    for (const isWritten of [false, true]) {
      const writing = isWritten ? startWriter(context) : undefined;
      const when = isWritten ? `up to ${1_000 / WRITE_INTERVAL_MS} writes/s` : "no writes";
      const paths = spreadPositions(RIDES).map(alone.after);
      const subjects = [
        alone.subject(`${when}, without a replica`, paths),
        replicated.subject(`${when}, with a replica`, paths),
      ];
      const options = { connectionString: postgres.primaryUrl, repetitions, seconds, connections };
      lines.push(report(await measure(subjects, options), []));
      await writing?.stop();
    }
    lines.push(`answered by the replica: ${await answeredByReplica(metrics)} reads\n`);
    await Promise.all([alone.stop(), replicated.stop()]);
    return lines.join("");
  });
  metrics.close();
  await context.db.close();
  await postgres.close();
  return text;
}

/** Returns how many reads the replica has answered, by the service's metrics. */
async function answeredByReplica(metrics: HttpClient): Promise<number> {
  const { body } = await metrics.ask({ path: "/metrics" });
  return Number(/^bikeshare_replica_reads_total\{outcome="replica"\} (\d+)$/m.exec(body)?.[1]);
}

/** Updates a row again and again until it is stopped. */
function startWriter({ db }: Provisioned): { stop(): Promise<void> } {
  const over = new AbortController();
  const write = async () => {
    while (!over.signal.aborted) {
      const update = db.transaction((tx) => tx.run("update systems set name = name where system_id = 'main'"));
      // Ignores a cancelled update: between two turns all running statements are cancelled.
      await update.catch(() => undefined);
      await sleep(WRITE_INTERVAL_MS);
    }
  };
  const writing = write();
  return {
    stop() {
      over.abort();
      return writing;
    },
  };
}
