import { setTimeout as wait } from "node:timers/promises";
import { percentile, type ReceiverProcess, startReceiver } from "@bikeshare/load";
import { recordEvents } from "../../src/events/outbox.ts";
import { openListener } from "../../src/storage/db/listener.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { onPostgres, say } from "../processes.ts";
import { dispatcherFor } from "./ours.ts";
import { addEndpoint, CIPHER, enqueue, makeWorld, waitingDeliveries, type World } from "./world.ts";

/** A load of events that are committed one by one, at even intervals. */
interface Trickle {
  readonly event: "ride.started" | "ride.completed";
  readonly events: number;
  readonly seconds: number;
  /** The number of deliveries of each event that the receiver gets. */
  readonly deliveries: number;
  /** The receiver, which records when each delivery arrives. */
  readonly receiver: ReceiverProcess;
}

/** Returns the milliseconds from the commit of each event to the receipt of each of its deliveries. */
async function measureDelays(world: World, load: Trickle): Promise<number[]> {
  const dispatcher = dispatcherFor(world, CIPHER);
  const listener = openListener({
    connectionString: world.db.connectionString,
    notifier: world.db,
    on: { event_outbox: (systemId) => dispatcher.wake(systemId) },
    onGap: () => undefined,
  });
  try {
    // Waits until lanes are leased and connections are open, before anything is measured.
    await wait(2_000);
    const committed = await commitEvenly(world, load);
    const arrivals: (readonly [body: string, at: number])[] = [];
    while (arrivals.length < committed.length * load.deliveries) {
      await wait(200);
      arrivals.push(...(await load.receiver.takeArrivals()));
    }
    return arrivals.map(([body, at]) => {
      const { data } = JSON.parse(body) as { data: { n: number } };
      return at - (committed[data.n] ?? Number.NaN);
    });
  } finally {
    await listener.close();
    await dispatcher.close();
  }
}

/** Commits events at even intervals. @returns the time at which each event was committed, by its number */
async function commitEvenly({ db, ids, systemId, data }: World, { event: name, events, seconds }: Trickle) {
  const between = (seconds * 1000) / events;
  const committed: number[] = [];
  const from = performance.now();
  for (let n = 0; n < events; n++) {
    const early = from + n * between - performance.now();
    if (early > 0) await wait(early);
    const now = new Date();
    const event = { name, occurredAt: now, partnerId: null, data: `{"n":${n},${data.slice(1)}` };
    await db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
    committed[n] = performance.timeOrigin + performance.now();
  }
  return committed;
}

const moveTo = statement(
  "bench.moveTo",
  `update webhook_endpoints endpoint set url = moved.url
   from (select id, ($2::text[])[row_number() over (order by id)] as url from webhook_endpoints where system_id = $1) as moved
   where endpoint.system_id = $1 and endpoint.id = moved.id`,
);

/**
 * Commits events one by one, evenly.
 * @returns percentiles of the milliseconds from an event's commit to the receipt of its deliveries
 */
export async function measureLatency(
  world: World,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
) {
  const receiver = await startReceiver({ origins: world.endpoints, keepsArrivals: true });
  const urls = Array.from({ length: world.endpoints }, (_, endpoint) => receiver.urlOf(endpoint));
  await world.db.query(moveTo, [world.systemId, urls]);
  const events = Math.floor((perSecond * seconds) / world.endpoints);
  const trickle = { event: "ride.completed", events, seconds, deliveries: world.endpoints, receiver } as const;
  const delays = await measureDelays(world, trickle);
  await receiver.close();
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => Math.round(percentile(delays, share) * 10) / 10);
  return { perSecond: Math.round(perSecond), deliveries: delays.length, p50, p99, worst };
}

const HANGING = Number(process.env["FAIRNESS_ENDPOINTS"] ?? 100);
const BACKLOG = Number(process.env["FAIRNESS_BACKLOG"] ?? 100_000);
const PER_SECOND = Number(process.env["FAIRNESS_PER_SECOND"] ?? 100);
const SECONDS = Number(process.env["FAIRNESS_SECONDS"] ?? 60);
const REPETITIONS = Number(process.env["FAIRNESS_ROUNDS"] ?? 2);
/** The most by which the p99 of the healthy endpoint may rise, in percent. */
const MAX_RISE = 10;

const forget = statement("fairness.forget", "delete from webhook_queue where system_id = $1 and endpoint_id <> $2");

/**
 * Measures the delay of deliveries to a healthy endpoint with a steady flow of events, alone and beside 100 endpoints that
 * hang for 15 s and have 100,000 waiting deliveries. Both cases are measured in turns, because the speed of the machine
 * varies.
 */
export function fairness(): Promise<void> {
  return onPostgres(async ({ connectionString }) => {
    const hanging = await startReceiver({ isHanging: true });
    const receiver = await startReceiver({ keepsArrivals: true });
    const far = Array.from({ length: HANGING }, (_, endpoint) => hanging.urlOf(endpoint));
    const world = await makeWorld(connectionString, CIPHER, far);
    // The healthy endpoint subscribes to another event than the hanging ones.
    const healthy = await addEndpoint(world, CIPHER, "Healthy", receiver.urlOf(0), "ride.started");
    const [without, beside]: [number[], number[]] = [[], []];
    for (let round = 0; round < REPETITIONS; round++) {
      for (const backlog of [0, BACKLOG]) {
        await world.db.query(forget, [world.systemId, healthy]);
        if (backlog > 0) await enqueue(world, backlog / world.endpoints);
        if ((await waitingDeliveries(world)) !== backlog) throw new Error("the backlog is not what was asked for");
        const load = { event: "ride.started", events: PER_SECOND * SECONDS, seconds: SECONDS, deliveries: 1 } as const;
        const delays = await measureDelays(world, { ...load, receiver });
        (backlog === 0 ? without : beside).push(...delays);
        say(`round ${round + 1}, ${backlog} waiting: ${describe(delays)}`);
      }
    }
    const rise = (percentile(beside, 0.99) / percentile(without, 0.99) - 1) * 100;
    say(`without: ${describe(without)}; beside: ${describe(beside)}`);
    say(
      `${rise <= MAX_RISE ? "HOLDS" : "BROKEN"}: p99 rises by ${rise.toFixed(0)} % beside ${HANGING} hanging endpoints`,
    );
    await world.db.close();
    await hanging.close();
    await receiver.close();
  });
}

function describe(delays: readonly number[]): string {
  const [p50, p99, worst] = [0.5, 0.99, 1].map((share) => percentile(delays, share).toFixed(1));
  return `${delays.length} events, p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms`;
}
