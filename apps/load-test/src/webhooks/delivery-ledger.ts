import { createLatencyHistogram, type LatencySummary, recordMs, summaryOf } from "../load/recorder.ts";

/** What a receiver keeps of a delivery. */
interface ReceivedDelivery {
  /** Which of the run's endpoints received it. */
  readonly endpoint: number;
  readonly event: string;
  readonly deliveryId: string;
  /** The id of the resource in `data`. */
  readonly subjectId: string;
  /** Milliseconds since 1970. */
  readonly occurredAt: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** What became of the events of a run: in the report. Times are in milliseconds. */
export interface DeliveryResult {
  readonly endpoints: number;
  /** Deliveries that must arrive: each acknowledged event at each endpoint. */
  readonly expected: number;
  readonly received: number;
  readonly lost: number;
  /** Deliveries that arrived again, by their `delivery_id`. Allowed after a crash only. */
  readonly repeated: number;
  /** Rides of which an endpoint saw the end before the start. The service promises no order. */
  readonly reordered: number;
  /** Requests whose signature was wrong. */
  readonly unverified: number;
  /** The first few of what is lost: `ride.started <ride id>`. */
  readonly examples: readonly string[];
  readonly occurredToReceived: LatencySummary;
  readonly sentToReceived: LatencySummary;
}

/** Compares what arrived with what must have arrived. */
export interface DeliveryLedger {
  received(delivery: ReceivedDelivery): void;
  unverified(): void;
  /** @param events acknowledged by the service, such as `ride.started <ride id>` */
  result(events: readonly string[], endpoints: number): DeliveryResult;
}

const MAX_EXAMPLES = 10;
const START_EVENT = "ride.started";
const END_EVENT = "ride.completed";

export function createDeliveryLedger(): DeliveryLedger {
  const deliveryIds = new Set<string>();
  const arrived = new Set<string>();
  const [fromOccurred, fromSent] = [createLatencyHistogram(3), createLatencyHistogram(3)];
  let [repeated, reordered, unverified] = [0, 0, 0];
  return {
    received({ endpoint, event, deliveryId, subjectId, occurredAt, sentAt, receivedAt }) {
      if (deliveryIds.has(`${endpoint} ${deliveryId}`)) {
        repeated++;
        return;
      }
      deliveryIds.add(`${endpoint} ${deliveryId}`);
      arrived.add(`${endpoint} ${event} ${subjectId}`);
      if (event === START_EVENT && arrived.has(`${endpoint} ${END_EVENT} ${subjectId}`)) reordered++;
      recordMs(fromOccurred, receivedAt - occurredAt);
      recordMs(fromSent, receivedAt - sentAt);
    },
    unverified: () => void unverified++,
    result(events, endpoints) {
      const expected = Array.from({ length: endpoints }, (_, endpoint) =>
        events.map((event) => `${endpoint} ${event}`),
      ).flat();
      const lost = expected.filter((delivery) => !arrived.has(delivery));
      return {
        endpoints,
        expected: expected.length,
        received: expected.length - lost.length,
        lost: lost.length,
        repeated,
        reordered,
        unverified,
        examples: lost.slice(0, MAX_EXAMPLES).map((delivery) => delivery.slice(delivery.indexOf(" ") + 1)),
        occurredToReceived: summaryOf(fromOccurred),
        sentToReceived: summaryOf(fromSent),
      };
    },
  };
}
