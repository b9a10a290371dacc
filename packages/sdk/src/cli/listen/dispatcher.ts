import { deliveryIdOf } from "../../delivery-id.ts";
import type { EventRecord } from "../../json-types.generated.ts";
import type { Environment } from "../environment.ts";
import { type Output, printable } from "../output.ts";
import {
  type CircuitBreaker,
  createCircuitBreaker,
  createDeliveryQueue,
  type Delivery,
  type DeliveryQueue,
} from "./delivery-queue.ts";
import type { EventSink } from "./event-sink.ts";
import { ENDPOINT, type Outcome, sendWebhook } from "./send-webhook.ts";

/** Maximum unfinished deliveries. Too high: delays the report that the receiver is broken. */
const MAX_QUEUE_SIZE = 100;
/**
 * Time that requests in flight have after the program is told to stop. Too low: aborts more of them. Too high: Ctrl-C
 * seems to do nothing.
 */
const SHUTDOWN_TIMEOUT_MS = 2_000;
/** The delay before each retry: a developer fixes and restarts in between. The service retries for days. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

export interface DispatcherOptions {
  readonly target: URL;
  readonly secret: string;
  /** The id of the event after which it begins. */
  readonly start: string | undefined;
  /** The most deliveries in flight. */
  readonly concurrency: number;
  readonly environment: Environment;
  readonly output: Output;
}

/**
 * POSTs events to an address, several at once. A failed delivery is retried later; while nothing listens there, all
 * deliveries wait.
 */
export function createDispatcher(options: DispatcherOptions): EventSink {
  const { target, secret, start, concurrency, environment, output } = options;
  const { clock, stopped, wait } = environment;
  const queue = createDeliveryQueue(start, concurrency);
  const breaker = createCircuitBreaker(() => output.note(`Nothing listens at ${target.origin}; waiting …`));
  const state: State = { queue, breaker, counts: { delivered: 0, failed: 0 }, output, clock };
  const requests = new Set<Promise<void>>();
  /** Aborts when the dispatcher is closed: requests in flight are cut off, and no timer is left. */
  const closed = new AbortController();
  let isClosing = false;
  let onFinished = () => {};
  stopped.addEventListener("abort", () => onFinished());

  const startDeliveries = () => {
    while (!isClosing && !stopped.aborted && breaker.allows(clock(), queue.inFlight)) {
      const delivery = queue.next(clock());
      if (delivery === undefined) return;
      const request = send(delivery).finally(() => {
        requests.delete(request);
        onFinished();
        startDeliveries();
      });
      requests.add(request);
    }
  };

  const send = async (delivery: Delivery): Promise<void> => {
    const sentAt = clock();
    const webhook = { event: delivery.event, target, secret, sentAt };
    const outcome = await sendWebhook(webhook, closed.signal).catch(() => undefined);
    // The receiver may have taken a request that was cut off or not: it stays in the queue, unfinished.
    const delayMs = outcome && handleOutcome(state, delivery, outcome, sentAt);
    if (delayMs !== undefined) wait(delayMs, closed.signal).then(startDeliveries, () => {});
  };

  return {
    async write(event) {
      queue.add(event);
      startDeliveries();
      while (queue.size >= MAX_QUEUE_SIZE && !stopped.aborted) {
        await new Promise<void>((resolve) => {
          onFinished = resolve;
        });
      }
    },
    async close() {
      isClosing = true;
      const timeout = wait(SHUTDOWN_TIMEOUT_MS, closed.signal).catch(() => {});
      await Promise.race([Promise.allSettled(requests), timeout]);
      closed.abort();
      await Promise.allSettled(requests);
      return { ...state.counts, since: queue.checkpoint() };
    },
  };
}

/** The state that the end of an attempt changes. */
interface State {
  readonly queue: DeliveryQueue;
  readonly breaker: CircuitBreaker;
  readonly counts: { delivered: number; failed: number };
  readonly output: Output;
  readonly clock: Environment["clock"];
}

/** @returns milliseconds after which more may be sent; undefined where there is nothing to wait for */
function handleOutcome(
  { queue, breaker, counts, output, clock }: State,
  { event, attempts }: Delivery,
  outcome: Outcome,
  sentAt: number,
): number | undefined {
  if (outcome.kind === "connection_refused") {
    // This does not count as an attempt: there was no receiver to fail.
    queue.retryAt(event, attempts, 0);
    return breaker.refused(clock());
  }
  breaker.connected();
  const attempt = attempts + 1;
  const isDelivered = isSuccess(outcome);
  const delayMs = isDelivered ? undefined : RETRY_DELAYS_MS[attempts];
  reportAttempt(output, { event, outcome, attempt, sentAt, durationMs: clock() - sentAt, delayMs });
  if (delayMs === undefined) {
    counts[isDelivered ? "delivered" : "failed"]++;
    queue.remove(event);
  } else queue.retryAt(event, attempt, clock() + delayMs);
  return delayMs;
}

/** An attempt that reached the receiver, or failed on its way. */
interface Attempt {
  readonly event: EventRecord;
  readonly outcome: Exclude<Outcome, { readonly kind: "connection_refused" }>;
  /** 1 for the first. */
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  readonly durationMs: number;
  /** Until the next attempt; undefined where there is none. */
  readonly delayMs: number | undefined;
}

function isSuccess(outcome: Outcome): boolean {
  return outcome.kind === "response" && outcome.status >= 200 && outcome.status < 300;
}

/** Prints an attempt: a line for people, or an object. */
function reportAttempt(output: Output, { event, outcome, attempt, sentAt, durationMs, delayMs }: Attempt): void {
  const status = outcome.kind === "response" ? outcome.status : undefined;
  const isDelivered = isSuccess(outcome);
  const reason = isDelivered ? "" : printable(outcome.reason);
  const object = {
    event: event.event,
    event_id: event.id,
    delivery_id: deliveryIdOf(event.id, ENDPOINT),
    attempt,
    status: status ?? null,
    reason: reason || null,
    duration_ms: durationMs,
    retry_in_ms: delayMs ?? null,
  };
  const time = new Date(sentAt).toISOString().slice(11, 19);
  const next = delayMs === undefined ? "failed" : `retry in ${delayMs / 1000} s`;
  const failure = isDelivered ? "" : `  attempt ${attempt}, ${next}${reason && `: ${reason}`}`;
  const subject = `${printable(event.event)}  ${printable(event.id)}`;
  output.result(object, `${time}  ${status ?? "---"}  ${subject}  ${durationMs} ms${failure}`);
}
