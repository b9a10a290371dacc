import { setTimeout } from "node:timers/promises";
import type { Answer, HttpClient } from "../http/client.ts";
import { runOpenLoop } from "./open-loop.ts";
import { createOutcomeCounter, type OutcomeCount } from "./outcomes.ts";
import type { Plan, StreamPlan } from "./plan.ts";
import { createHistograms, type Histograms, recordMs } from "./recorder.ts";
import type { Exchange, RecordedEvent, Scenario } from "./scenario.ts";
import { derivedSeed, startTimes } from "./schedule.ts";

/*
 * A stream: requests of one scenario at one rate. Each worker thread sends its share. In the open model requests start at
 * their intended times; in the closed model each connection sends as soon as it is answered.
 */

/** The results of one stream in one worker. */
export interface StreamReport {
  readonly name: string;
  readonly outcomes: readonly OutcomeCount[];
  /** What went wrong, one sentence each. */
  readonly violations: readonly string[];
  readonly acknowledgedEvents: readonly string[];
}

/** Requests of one stream by one worker. */
export interface Stream {
  readonly histograms: Histograms;
  /**
   * Resolves when the last start was due or, in the closed model, when the time is over. Requests may still be under
   * way.
   * @param startAt when the run begins, on the clock of this thread
   */
  run(startAt: number): Promise<void>;
  report(): StreamReport;
}

/** Is called for each request of a worker. worker.ts counts them. */
export interface RequestObserver {
  started(): void;
  answered(exchange: Exchange, answer: Answer, timing: RequestTiming, isExpected: boolean): void;
}

/** The times of one request, in milliseconds. */
export interface RequestTiming {
  /** From the intended start to the answer, as a caller sees it. */
  readonly response: number;
  /** From when a connection took the request to the answer. */
  readonly service: number;
  /** From the intended start to when a connection took the request. */
  readonly lag: number;
}

export interface StreamOptions {
  readonly plan: Plan;
  readonly stream: StreamPlan;
  /** The index of the stream in the plan. */
  readonly index: number;
  readonly workerIndex: number;
  readonly scenario: Scenario;
  readonly client: HttpClient;
  readonly observer: RequestObserver;
}

/** A request that is to start. */
interface Start {
  /** On the monotonic clock of this thread. */
  readonly intendedAt: number;
  /** False during the warm-up. */
  readonly isMeasured: boolean;
  /** In the closed model: starts the next request of the connection. */
  readonly onAnswered?: () => void;
}

/** Creates a worker's share of a stream. It sends nothing before `run`. */
export function createStream(options: StreamOptions): Stream {
  const { plan, stream, scenario } = options;
  const histograms = createHistograms();
  const outcomes = createOutcomeCounter();
  const starts = createStartQueue(options, (exchange, answer, { intendedAt, isMeasured }) => {
    const isExpected = exchange.expected.includes(answer.outcome);
    const timing = {
      response: answer.endedAt - intendedAt,
      service: answer.endedAt - answer.startedAt,
      lag: answer.startedAt - intendedAt,
    };
    if (isMeasured) {
      for (const name of ["response", "service", "lag"] as const) recordMs(histograms[name], timing[name]);
    }
    outcomes.add(exchange.request.endpoint, answer.outcome, isExpected);
    options.observer.answered(exchange, answer, timing, isExpected);
    const issue = exchange.onAnswer?.(answer);
    if (issue !== undefined) outcomes.addIssue(issue);
  });
  return {
    histograms,
    async run(startAt) {
      const add = (intendedAt: number, onAnswered?: () => void) =>
        starts.add({
          intendedAt,
          isMeasured: intendedAt - startAt >= plan.warmUpMs,
          ...(onAnswered === undefined ? {} : { onAnswered }),
        });
      if (plan.mode === "closed") await runClosedLoop(plan, startAt, add);
      else await runOpenLoop(timesOf(options), startAt, add);
    },
    report() {
      if (starts.length() > 0) outcomes.add(stream.scenario, "never started", false, starts.length());
      const { violations = [], acknowledgedEvents = [] } = scenario.finish?.() ?? {};
      return {
        name: stream.name,
        outcomes: outcomes.counts(),
        violations: [...outcomes.issues(), ...violations],
        acknowledgedEvents,
      };
    },
  };
}

/** Starts requests in their order: at once, or when the answer comes that the scenario waits for. */
function createStartQueue(
  { scenario, client, observer }: StreamOptions,
  onAnswer: (exchange: Exchange, answer: Answer, start: Start) => void,
): { readonly add: (start: Start) => void; readonly length: () => number } {
  const waiting: Start[] = [];
  const send = (exchange: Exchange, start: Start) => {
    observer.started();
    client.send(exchange.request, (answer) => {
      onAnswer(exchange, answer, start);
      start.onAnswered?.();
      sendWaiting();
    });
  };
  const sendWaiting = () => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const exchange = scenario.next();
      if (exchange === undefined) return;
      waiting.shift();
      send(exchange, first);
    }
  };
  return {
    add(start) {
      waiting.push(start);
      sendWaiting();
    },
    length: () => waiting.length,
  };
}

/** Returns when this worker's requests of a stream start, in milliseconds from the start of the run. */
function timesOf({ plan, stream, index, workerIndex }: StreamOptions): Iterable<number> {
  const { ratePerSecond, arrivals: kind, recorded } = stream;
  if (recorded !== undefined) return recordedBy(recorded, plan, workerIndex).map(({ atMs }) => atMs);
  const seed = derivedSeed(plan.seed, index);
  return startTimes(
    { kind, ratePerSecond, durationMs: plan.durationMs, seed },
    { index: workerIndex, of: plan.workers },
  );
}

/** Returns the events of a recorded day that a worker sends. */
export function recordedBy(
  recorded: readonly RecordedEvent[],
  { workers }: Plan,
  workerIndex: number,
): RecordedEvent[] {
  return recorded.filter(({ bikeNumber }) => bikeNumber % workers === workerIndex);
}

/**
 * Until the time is over, sends the next request on each of the stream's connections when the last one is answered. The
 * end does not wait for answers, because a scenario without a request to send, such as without bikes, never gets one.
 */
async function runClosedLoop(
  { connections, workers, streams, durationMs }: Plan,
  startAt: number,
  start: (intendedAt: number, onAnswered: () => void) => void,
): Promise<void> {
  const count = Math.max(1, Math.floor(connections / workers / streams.length));
  await setTimeout(Math.max(0, startAt - performance.now()));
  const sendNext = () => {
    if (performance.now() - startAt < durationMs) start(performance.now(), sendNext);
  };
  for (let connection = 0; connection < count; connection++) sendNext();
  await setTimeout(Math.max(0, startAt + durationMs - performance.now()));
}
