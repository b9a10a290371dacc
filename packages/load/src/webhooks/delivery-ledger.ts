import type { DeliveryResult } from "../result.ts";
import { createLatencyHistogram, recordMs, summaryOf } from "../run-at-rate/recorder.ts";

/*
 * What the webhook receivers of a load test have received. receiver.ts records each delivery here. At the end the ledger is
 * compared with the events that the service has acknowledged: each must have reached each endpoint. A delivery keeps its id
 * when it is sent again. An event's name is `<event> <id of the resource>`, such as `ride.started 1f3a`.
 */

/** The stored part of a received delivery. Times are in milliseconds since 1970. */
interface ReceivedDelivery {
  /** The index of the endpoint that received it. */
  readonly endpoint: number;
  readonly event: string;
  readonly deliveryId: string;
  /** The id of the resource in `data`. */
  readonly subjectId: string;
  readonly occurredAt: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** Deliveries of one event to one endpoint. */
interface Receipt {
  /** The number of times it arrived. */
  times: number;
  readonly deliveryIds: Set<string>;
  /** Milliseconds from the event to its first arrival. */
  readonly delayMs: number;
}

/** Compares the received deliveries with the expected ones. */
export interface DeliveryLedger {
  received(delivery: ReceivedDelivery): void;
  /** Records a request that is not a correctly signed delivery. */
  unverified(reason: string): void;
  readonly unverifiedReasons: readonly string[];
  /** Returns the deliveries of an endpoint, by the event's name. */
  receipts(endpoint: number): ReadonlyMap<string, Receipt>;
  /** Compares the deliveries with events. @param eventNames the events that the service has acknowledged */
  result(eventNames: readonly string[], endpoints: number): DeliveryResult;
}

const MAX_EXAMPLES = 10;
const START_EVENT = "ride.started";
const END_EVENT = "ride.completed";

export function createDeliveryLedger(): DeliveryLedger {
  const byEndpoint = new Map<number, Map<string, Receipt>>();
  const unverifiedReasons: string[] = [];
  const [fromOccurred, fromSent] = [createLatencyHistogram(3), createLatencyHistogram(3)];
  let [repeated, reordered] = [0, 0];
  const receiptsOf = (endpoint: number) => {
    const receipts = byEndpoint.get(endpoint) ?? new Map<string, Receipt>();
    byEndpoint.set(endpoint, receipts);
    return receipts;
  };
  return {
    received({ endpoint, event, deliveryId, subjectId, occurredAt, sentAt, receivedAt }) {
      const receipts = receiptsOf(endpoint);
      const name = `${event} ${subjectId}`;
      const delayMs = receivedAt - occurredAt;
      // The delay of the first arrival stays.
      const receipt = receipts.get(name) ?? { times: 0, deliveryIds: new Set(), delayMs };
      receipts.set(name, receipt);
      receipt.times++;
      // A delivery that is sent again says nothing of order and delay.
      if (receipt.deliveryIds.has(deliveryId)) {
        repeated++;
        return;
      }
      receipt.deliveryIds.add(deliveryId);
      if (event === START_EVENT && receipts.has(`${END_EVENT} ${subjectId}`)) reordered++;
      recordMs(fromOccurred, delayMs);
      recordMs(fromSent, receivedAt - sentAt);
    },
    unverified: (reason) => void unverifiedReasons.push(reason),
    unverifiedReasons,
    receipts: receiptsOf,
    result(eventNames, endpoints) {
      const lost = Array.from({ length: endpoints }, (_, endpoint) =>
        eventNames.filter((name) => !receiptsOf(endpoint).has(name)),
      ).flat();
      const expected = eventNames.length * endpoints;
      return {
        endpoints,
        expected,
        received: expected - lost.length,
        lost: lost.length,
        repeated,
        reordered,
        unverified: unverifiedReasons.length,
        examples: lost.slice(0, MAX_EXAMPLES),
        occurredToReceived: summaryOf(fromOccurred),
        sentToReceived: summaryOf(fromSent),
      };
    },
  };
}
