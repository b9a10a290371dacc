import type { EventRecord } from "../../json-types.generated.ts";

/** An event that is being sent. */
export interface Delivery {
  readonly event: EventRecord;
  /** Attempts before this one. */
  readonly attempts: number;
}

interface Entry {
  /** The id of the event before. */
  readonly previousId: string | undefined;
  readonly attempts: number;
  readonly dueAt: number;
  readonly isInFlight: boolean;
}

/** Events to be delivered, oldest first. Those in flight stay in it until they are finished. */
export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>;

/**
 * @param start the id of the event after which it begins
 * @param concurrency the most deliveries in flight
 */
export function createDeliveryQueue(start: string | undefined, concurrency: number) {
  const queue = new Map<EventRecord, Entry>();
  let lastId = start;
  const eventsInFlight = () => [...queue].filter(([, { isInFlight }]) => isInFlight).map(([event]) => event);
  /** Keeps its position in the queue. */
  const update = (event: EventRecord, changes: Partial<Entry>) => {
    const entry = queue.get(event);
    if (entry !== undefined) queue.set(event, { ...entry, ...changes });
  };
  return {
    /** How many are not finished. */
    get size() {
      return queue.size;
    },
    /** How many of them are in flight. */
    get inFlight() {
      return eventsInFlight().length;
    },
    add(event: EventRecord) {
      queue.set(event, { previousId: lastId, attempts: 0, dueAt: 0, isInFlight: false });
      lastId = event.id;
    },
    /**
     * Starts the next delivery, if there is one: it is due, fewer than allowed are in flight, and none of them is about the
     * same ride, station or reservation. So events about one resource keep their order, except that one which waits for a
     * retry holds nothing up.
     *
     * @param now milliseconds since 1970
     */
    next(now: number): Delivery | undefined {
      const inFlight = eventsInFlight();
      if (inFlight.length >= concurrency) return undefined;
      const busy = new Set(inFlight.map(subjectOf));
      const isReady = ([event, { isInFlight, dueAt }]: [EventRecord, Entry]) =>
        !isInFlight && dueAt <= now && !busy.has(subjectOf(event));
      const [event, entry] = [...queue].find(isReady) ?? [];
      if (event === undefined || entry === undefined) return undefined;
      update(event, { isInFlight: true });
      return { event, attempts: entry.attempts };
    },
    /** It failed and is sent again at a time, in milliseconds since 1970. */
    retryAt: (event: EventRecord, attempts: number, dueAt: number) =>
      update(event, { attempts, dueAt, isInFlight: false }),
    /** It is finished: delivered, or given up. */
    remove: (event: EventRecord) => void queue.delete(event),
    /** The event after which to continue another day without losing any: the one before the oldest that is not finished. */
    checkpoint() {
      const [oldest] = queue.values();
      return oldest === undefined ? lastId : oldest.previousId;
    },
  };
}

/** Returns the id of the resource that an event is about; the event's own id where the resource has none. */
function subjectOf({ id, data }: EventRecord): unknown {
  return (typeof data === "object" && data !== null && Reflect.get(data, "id")) || id;
}

/** The first and the longest delay between two connection attempts; each is twice the one before. */
const FIRST_PROBE_DELAY_MS = 1_000;
const MAX_PROBE_DELAY_MS = 10_000;

/** A circuit breaker: while connections to the receiver are refused, one delivery at a time probes it. */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/** @param onOpen called when connections begin to be refused */
export function createCircuitBreaker(onOpen: () => void) {
  let failures = 0;
  let probeAt = 0;
  return {
    /** Whether a delivery may be sent, when so many are in flight. @param now milliseconds since 1970 */
    allows: (now: number, inFlight: number) => failures === 0 || (inFlight === 0 && now >= probeAt),
    /** A connection was refused. @returns milliseconds until the next probe; undefined if that is scheduled already */
    refused(now: number): number | undefined {
      if (failures === 0) onOpen();
      else if (now < probeAt) return undefined;
      const delayMs = Math.min(MAX_PROBE_DELAY_MS, FIRST_PROBE_DELAY_MS * 2 ** failures++);
      probeAt = now + delayMs;
      return delayMs;
    },
    /** A connection was accepted. */
    connected() {
      failures = 0;
    },
  };
}
