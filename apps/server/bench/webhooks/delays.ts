import { setTimeout as wait } from "node:timers/promises";
import { percentile, type ReceiverProcess, startReceiver } from "@bikeshare/load";
import { Agent, request } from "undici";
import { recordEvents } from "../../src/events/outbox.ts";
import type { Database } from "../../src/storage/db/database.ts";
import { openListener } from "../../src/storage/db/listener.ts";
import { statement } from "../../src/storage/db/statement.ts";
import { onPostgres, say } from "../processes.ts";
import { dispatcherFor } from "./ours.ts";
import { addEndpoint, CIPHER, enqueue, makeWorld, waitingDeliveries, type World } from "./world.ts";

/*
 * Measures the delay of deliveries, from the commit of an event to its receipt: at half of the highest rate
 * (`measureLatency`, which race.ts calls), and to one endpoint beside others that hang (`pnpm bench webhooks fair`).
 */

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
    // Waits until the dispatcher has leased the lanes (the deliveries of one endpoint each) and opened its connections.
    await wait(2_000);
    return await receiptsAfter(await commitEvenly(world, load), load);
  } finally {
    await listener.close();
    await dispatcher.close();
  }
}

/** Waits for all deliveries. @returns the milliseconds from `times`, by an event's number, to the receipt of each delivery */
async function receiptsAfter(times: readonly number[], { receiver, deliveries }: Trickle): Promise<number[]> {
  const arrivals: (readonly [body: string, at: number])[] = [];
  while (arrivals.length < times.length * deliveries) {
    await wait(200);
    arrivals.push(...(await receiver.takeArrivals()));
  }
  return arrivals.map(([body, at]) => {
    const { data } = JSON.parse(body) as { data: { n: number } };
    return at - (times[data.n] ?? Number.NaN);
  });
}

/** Commits events at even intervals. @returns the time at which each event was committed, by its number */
async function commitEvenly({ db, ids, systemId, data }: World, load: Trickle): Promise<number[]> {
  const committed: number[] = [];
  await evenly(load, async (n) => {
    const now = new Date();
    // The event's number is put into its data, by which `receiptsAfter` finds the commit of an arrival.
    const event = { name: load.event, occurredAt: now, partnerId: null, data: `{"n":${n},${data.slice(1)}` };
    await db.transaction((tx) => recordEvents(tx, { ids, systemId, now }, [event]));
    committed[n] = performance.timeOrigin + performance.now();
  });
  return committed;
}

/** Does something once for each event of a load, at even intervals. */
async function evenly({ events, seconds }: Trickle, act: (n: number) => Promise<void>): Promise<void> {
  const between = (seconds * 1000) / events;
  const from = performance.now();
  for (let n = 0; n < events; n++) {
    const early = from + n * between - performance.now();
    if (early > 0) await wait(early);
    await act(n);
  }
}

const storeRow = statement("bench.storeRow", "insert into bench_round_trips values ($1)");

/**
 * Measures the machine's own round trip under the same load: each event is one durable row, and then a bare POST to each
 * endpoint.
 * @returns the milliseconds from before the row is stored to the receipt of each POST
 */
async function measureRoundTrips(db: Database, load: Trickle, urls: readonly string[]): Promise<number[]> {
  await db.transaction((tx) => tx.run("create table bench_round_trips (n integer)"));
  const agent = new Agent();
  const begun: number[] = [];
  const posting: Promise<unknown>[] = [];
  await evenly(load, async (n) => {
    begun[n] = performance.timeOrigin + performance.now();
    await db.query(storeRow, [n]);
    const body = JSON.stringify({ data: { n } });
    const post = async (url: string) => {
      const response = await request(url, { method: "POST", body, dispatcher: agent });
      await response.body.dump();
    };
    posting.push(...urls.map(post));
  });
  await Promise.all(posting);
  await agent.close();
  return receiptsAfter(begun, load);
}

/** Gives each endpoint another URL, in the order of their ids. */
const moveTo = statement(
  "bench.moveTo",
  `update webhook_endpoints endpoint set url = moved.url
   from (select id, ($2::text[])[row_number() over (order by id)] as url from webhook_endpoints where system_id = $1) as moved
   where endpoint.system_id = $1 and endpoint.id = moved.id`,
);

/**
 * Commits events one by one, evenly, and measures the machine's own round trip under the same load afterwards.
 * @returns a text with percentiles of the milliseconds from an event's commit to the receipt of its deliveries, and of those
 * of the machine
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
  const bare = await measureRoundTrips(world.db, trickle, urls);
  await receiver.close();
  return `${Math.round(perSecond)} a second, ${describe(delays)}; one row and POSTs: ${describe(bare)}`;
}

/** Settings of `fairness`: endpoints that hang, their waiting deliveries, and the flow of events to the healthy one. */
const HANGING = Number(process.env["FAIRNESS_ENDPOINTS"] ?? 100);
const BACKLOG = Number(process.env["FAIRNESS_BACKLOG"] ?? 100_000);
const PER_SECOND = Number(process.env["FAIRNESS_PER_SECOND"] ?? 100);
const SECONDS = Number(process.env["FAIRNESS_SECONDS"] ?? 60);
const REPETITIONS = Number(process.env["FAIRNESS_ROUNDS"] ?? 2);
/** The most by which the p99 of the healthy endpoint may rise, in percent. */
const MAX_RISE = 10;

/** Removes the queued deliveries of every endpoint but one. */
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
    const hangingUrls = Array.from({ length: HANGING }, (_, endpoint) => hanging.urlOf(endpoint));
    const world = await makeWorld(connectionString, CIPHER, hangingUrls);
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
  return `${delays.length} deliveries, p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms`;
}
