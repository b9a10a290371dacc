import { once } from "node:events";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { type DeliveryLog, openDeliveryLog } from "../delivery-log/data-set.ts";
import { say, serve } from "../processes.ts";
import { makePartner, makePerson, openContext, signIn, SYSTEM_ID } from "../provision.ts";
import { addReservableBikes, createOthers, PAUSE_MS, reading, reserving } from "./others.ts";
import type { ViewerData } from "./viewer.worker.ts";

/*
 * Measures what a heavy viewer costs another partner. The viewer's partner has 600,000 deliveries. In each loaded period the
 * viewer sends 300 downloads that match nothing and 120 slow pages, all at once; the rate limit of the session refuses most
 * of them. Quiet and loaded periods alternate, so that other load on the machine affects both. Settings: `BENCH_DELIVERIES`
 * (half belong to the viewer's partner), `BENCH_PERIODS`.
 */

const DELIVERIES = Number(process.env["BENCH_DELIVERIES"] ?? 1_200_000);
const PERIODS = Number(process.env["BENCH_PERIODS"] ?? 6);
/** Seconds of each period. When a loaded one ends, the viewer aborts the requests that are not answered yet. */
const PERIOD_SECONDS = 15;
/** Maximum p99 of another partner. */
const MAX_P99_MS = 100;

/** Runs the bench, and prints its report. */
export async function heavyViewer(): Promise<void> {
  const log = await openDeliveryLog(DELIVERIES);
  const { lightKey, cookie } = await prepare(log);
  const env = { DATABASE_URL: log.connectionString, DATA_DIR: join(log.directory, "service") };
  // No worker, because it would send the pending deliveries. New secrets, because nobody has those of the data set.
  const { url, stop } = await serve(env, ["--role", "api", "--new-secrets"]);
  const pages = ["/v1/rides", "/v1/reservations?status=active", "/readyz"];
  const otherPartner = createOthers(url, lightKey, [reserving, ...pages.map((path) => reading(path, PAUSE_MS))]);
  const workerData: ViewerData = {
    url: `${url}/console/v1/systems/${SYSTEM_ID}/partners/${log.partnerId}`,
    cookie,
    burstMilliseconds: PERIOD_SECONDS * 1_000,
  };
  const viewer = new Worker(join(import.meta.dirname, "viewer.worker.ts"), { workerData });
  const answers: Record<string, number> = {};
  try {
    for (let period = 0; period < PERIODS; period++) {
      await otherPartner.measure("quiet", PERIOD_SECONDS);
      await Promise.all([otherPartner.measure("busy", PERIOD_SECONDS), sendBurst(viewer, answers)]);
    }
    say(`A viewer of ${DELIVERIES / 2} deliveries, ${PERIODS} periods of ${PERIOD_SECONDS} s.`);
    say(`its answers: ${JSON.stringify(answers)}`);
    otherPartner.report(MAX_P99_MS);
  } finally {
    await viewer.terminate();
    await stop();
    await log.close();
  }
}

/** Lets the viewer send its requests once, and adds their outcomes to `answers`. */
async function sendBurst(viewer: Worker, answers: Record<string, number>): Promise<void> {
  const ended = once(viewer, "message");
  viewer.postMessage("burst");
  const [counts] = (await ended) as [Record<string, number>];
  for (const [what, n] of Object.entries(counts)) answers[what] = (answers[what] ?? 0) + n;
}

/** Makes the other partner, with a key and bikes to reserve, and a person who may view the data of both partners. */
async function prepare({ connectionString, partnerId }: DeliveryLog) {
  const context = openContext(connectionString);
  const light = await makePartner(context, "Light");
  await addReservableBikes(context);
  const cookie = await signIn(context, await makePerson(context, [null, partnerId]));
  await context.db.close();
  return { lightKey: light.key, cookie };
}
