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

/** Unfinished deliveries from which on `write` waits. Too low: deliveries that wait for a retry hold up new events. */
const MAX_QUEUE_SIZE = 100;
/**
 * Time that requests in flight have after the program is told to stop. Too low: aborts more of them. Too high: the user
 * thinks that Ctrl-C does not work.
 */
const SHUTDOWN_TIMEOUT_MS = 2_000;
/** The delays before the retries. They give a developer time to fix the receiver. The service itself retries for days. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000];

/** Where events are sent, and how. */
export interface DispatcherOptions {
  readonly target: URL;
  readonly secret: string;
  /**
   * The id of the event after which the listening begins, for the dispatcher's checkpoint. Undefined: it begins with the
   * oldest event, or the caller continues no list, as the command `fake` does.
   */
  readonly start: string | undefined;
  /** Maximum deliveries in flight. */
  readonly concurrency: number;
  readonly environment: Environment;
  readonly output: Output;
}

/**
 * POSTs events to an address, several at once. A failed delivery is retried later. While nothing listens at the address, all
 * deliveries wait.
 */
export function createDispatcher(options: DispatcherOptions): EventSink {
  const { target, secret, start, concurrency, environment, output } = options;
  const { clock, stopped, wait } = environment;
  const queue = createDeliveryQueue(start, concurrency);
  const breaker = createCircuitBreaker(() => output.note(`Nothing listens at ${target.origin}; waiting …`));
  const state: State = { queue, breaker, counts: { delivered: 0, failed: 0 }, output, clock };
  const requests = new Set<Promise<void>>();
  /** Aborts when the dispatcher is closed. This ends the requests in flight and all timers. */
  const closed = new AbortController();
  let isClosing = false;
  /** Wakes `write`, which waits while the queue is full. */
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
    // Without an outcome the request was cut off, and the receiver may have it or not. The event stays unfinished.
    const nextAt = outcome && handleOutcome(state, delivery, outcome, sentAt);
    if (nextAt !== undefined) waitUntil(nextAt, environment, closed.signal).then(startDeliveries, () => {});
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

/** Waits until the clock shows a time. A timer may fire a millisecond before it. */
async function waitUntil(time: number, { clock, wait }: Environment, signal: AbortSignal): Promise<void> {
  for (let now = clock(); now < time; now = clock()) await wait(time - now, signal);
}

/** What `handleOutcome` reads and changes. */
interface State {
  readonly queue: DeliveryQueue;
  readonly breaker: CircuitBreaker;
  readonly counts: { delivered: number; failed: number };
  readonly output: Output;
  readonly clock: Environment["clock"];
}

/** Handles the end of an attempt. @returns the time at which the next delivery may be due; undefined: no timer is needed */
function handleOutcome(
  { queue, breaker, counts, output, clock }: State,
  { event, attempts }: Delivery,
  outcome: Outcome,
  sentAt: number,
): number | undefined {
  if (outcome.kind === "connection_refused") {
    // This does not count as an attempt, because no receiver got the delivery. It is due at once; the breaker delays it.
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
    return undefined;
  }
  const dueAt = clock() + delayMs;
  queue.retryAt(event, attempt, dueAt);
  return dueAt;
}

/** An attempt that reached the receiver, or failed on its way. */
interface Attempt {
  readonly event: EventRecord;
  readonly outcome: Exclude<Outcome, { readonly kind: "connection_refused" }>;
  /** The number of the attempt, counted from 1. */
  readonly attempt: number;
  /** Milliseconds since 1970. */
  readonly sentAt: number;
  readonly durationMs: number;
  /** Milliseconds until the next attempt; undefined if there is none. */
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
