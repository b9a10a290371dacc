import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { createRandom } from "@bikeshare/simulator";
import { createHttpClient, REQUEST_TIMEOUT_MS } from "../http/client.ts";
import { scenarios } from "../scenarios/all.ts";
import type { Plan } from "./plan.ts";
import type { Histograms } from "./recorder.ts";
import { derivedSeed } from "./schedule.ts";
import { createSecondCounter, type SecondCount } from "./second-counter.ts";
import { createStream, recordedBy, type RequestObserver, type Stream, type StreamReport } from "./stream.ts";

/* A thread that sends the requests of a run. run.ts starts it and receives its messages. */

/** What run.ts gives a worker at its start. */
export interface WorkerData {
  readonly plan: Plan;
  readonly workerIndex: number;
}

/** The messages of a worker. `ready` comes first and `finished` last. */
export type WorkerMessage =
  /** The histograms are shared with the worker: they grow until it has finished. */
  | { readonly kind: "ready"; readonly histograms: readonly Histograms[] }
  | { readonly kind: "second"; readonly count: SecondCount }
  /** An answer that the main thread compares with the contract, so that no request waits for the comparison. */
  | { readonly kind: "sample"; readonly endpoint: string; readonly status: number; readonly body: string }
  | { readonly kind: "finished"; readonly reports: readonly StreamReport[] };

/**
 * Maximum answers of a worker that are compared with the contract in a second. A page of 200 rides takes some
 * milliseconds.
 */
const MAX_SAMPLES_PER_SECOND = 20;
const POLL_INTERVAL_MS = 10;
const SECOND_MS = 1000;

const port = parentPort;
if (port === null) throw new Error("worker.ts runs in a worker thread.");
const { plan, workerIndex } = workerData as WorkerData;
const post = (message: WorkerMessage) => port.postMessage(message);
const counter = createSecondCounter();
const client = createHttpClient(plan.url, { connections: Math.max(1, Math.floor(plan.connections / plan.workers)) });
/** Answers so far, by endpoint and status. */
const answers = new Map<string, number>();
/** Answers of the present second that were posted for a comparison with the contract. */
let samples = 0;

const observer: RequestObserver = {
  started: () => counter.started(),
  answered({ request }, { status, body }, timing, isExpected) {
    counter.answered(timing, isExpected);
    const kind = `${request.endpoint} ${status}`;
    const before = answers.get(kind) ?? 0;
    answers.set(kind, before + 1);
    if (status === 0 || before % plan.checkEvery !== 0 || samples >= MAX_SAMPLES_PER_SECOND) return;
    samples++;
    post({ kind: "sample", endpoint: request.endpoint, status, body });
  },
};

const streams = plan.streams.map((_, index) => streamAt(index));
post({ kind: "ready", histograms: streams.map(({ histograms }) => histograms) });
const [startEpochMs] = (await once(port, "message")) as [number];
// The start is the same instant for all threads. Each converts it to its own monotonic clock.
const startAt = startEpochMs - performance.timeOrigin;
const ticking = tick(startAt);
await Promise.all(streams.map((stream) => stream.run(startAt)));
// A start that waits for an answer is sent when the answer comes. With no request under way, none comes any more.
for (const end = performance.now() + REQUEST_TIMEOUT_MS; client.pending() > 0 && performance.now() < end;) {
  await setTimeout(POLL_INTERVAL_MS);
}
client.close();
ticking.stop();
post({ kind: "finished", reports: streams.map((stream) => stream.report()) });
port.close();

/** Creates this worker's part of a stream of the plan. */
function streamAt(index: number): Stream {
  const stream = plan.streams[index];
  const kind = scenarios[stream?.scenario ?? ""];
  if (stream === undefined || kind === undefined) throw new Error(`There is no scenario ${stream?.scenario}.`);
  const ownKeys = shareOf(stream.keys);
  // When there are fewer keys than workers, workers share keys.
  const [first = "", ...others] = ownKeys.length > 0 ? ownKeys : stream.keys;
  const scenario = kind.create({
    random: createRandom(derivedSeed(plan.seed, index, workerIndex)),
    keys: [first, ...others],
    operatorKey: plan.operatorKey,
    world: plan.world,
    bikes: shareOf(stream.bikes),
    recorded: recordedBy(stream.recorded ?? [], plan, workerIndex),
    idPrefix: `${plan.runId}-${index}-${workerIndex}-`,
  });
  return createStream({ plan, stream, index, workerIndex, scenario, client, observer });
}

/** Returns this worker's part of items that the workers share. */
function shareOf<Item>(items: readonly Item[]): Item[] {
  return items.filter((_, index) => index % plan.workers === workerIndex);
}

/** Posts the counts of each second when it is over, and at `stop` those of the last, unfinished second. */
function tick(from: number): { stop(): void } {
  let second = 0;
  const take = () => {
    samples = 0;
    post({ kind: "second", count: counter.take(second++, client.pending()) });
  };
  let timer = setNext();
  function setNext(): NodeJS.Timeout {
    const wait = from + (second + 1) * SECOND_MS - performance.now();
    return globalThis.setTimeout(
      () => {
        take();
        timer = setNext();
      },
      Math.max(0, wait),
    );
  }
  return {
    stop() {
      clearTimeout(timer);
      take();
    },
  };
}
