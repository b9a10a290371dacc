import type { EventRecord } from "../../json-types.generated.ts";

/** An event that is being sent. */
export interface Delivery {
  readonly event: EventRecord;
  /** Attempts before this one. */
  readonly attempts: number;
}

/** Events to be delivered, oldest first. Those in flight stay in it until they are finished. */
export interface DeliveryQueue {
  /** How many are not finished. */
  readonly size: number;
  /** How many of them are in flight. */
  readonly inFlight: number;
  add(event: EventRecord): void;
  /**
   * Starts the next delivery, if there is one: it is due, fewer than allowed are in flight, and none of them is about the
   * same ride, station or reservation. So events about one resource keep their order, except that one which waits for a
   * retry holds nothing up.
   *
   * @param now milliseconds since 1970
   */
  next(now: number): Delivery | undefined;
  /** It failed and is sent again at a time, in milliseconds since 1970. */
  retryAt(event: EventRecord, attempts: number, dueAt: number): void;
  /** It is finished: delivered, or given up. */
  remove(event: EventRecord): void;
  /** The event after which to continue another day without losing any: the one before the oldest that is not finished. */
  checkpoint(): string | undefined;
}

interface Entry {
  /** The id of the event before. */
  readonly previousId: string | undefined;
  readonly attempts: number;
  readonly dueAt: number;
  readonly isInFlight: boolean;
}

/**
 * An empty queue.
 *
 * @param start the id of the event after which it begins
 * @param concurrency the most deliveries in flight
 */
export function createDeliveryQueue(start: string | undefined, concurrency: number): DeliveryQueue {
  const queue = new Map<EventRecord, Entry>();
  let lastId = start;
  const eventsInFlight = () => [...queue].filter(([, { isInFlight }]) => isInFlight).map(([event]) => event);
  /** Keeps its position in the queue. */
  const update = (event: EventRecord, changes: Partial<Entry>) => {
    const entry = queue.get(event);
    if (entry !== undefined) queue.set(event, { ...entry, ...changes });
  };
  return {
    get size() {
      return queue.size;
    },
    get inFlight() {
      return eventsInFlight().length;
    },
    add(event) {
      queue.set(event, { previousId: lastId, attempts: 0, dueAt: 0, isInFlight: false });
      lastId = event.id;
    },
    next(now) {
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
    retryAt: (event, attempts, dueAt) => update(event, { attempts, dueAt, isInFlight: false }),
    remove: (event) => void queue.delete(event),
    checkpoint() {
      const [oldest] = queue.values();
      return oldest === undefined ? lastId : oldest.previousId;
    },
  };
}

/** The id of the resource that an event is about; the event's own id where the resource has none. */
function subjectOf({ id, data }: EventRecord): unknown {
  return (typeof data === "object" && data !== null && Reflect.get(data, "id")) || id;
}

/** The first and the longest delay between two connection attempts; each is twice the one before. */
const FIRST_PROBE_DELAY_MS = 1_000;
const MAX_PROBE_DELAY_MS = 10_000;

/** A circuit breaker: while connections to the receiver are refused, one delivery at a time probes it. */
export interface CircuitBreaker {
  /**
   * Whether a delivery may be sent.
   *
   * @param now milliseconds since 1970
   * @param inFlight how many are in flight
   */
  allows(now: number, inFlight: number): boolean;
  /**
   * A connection was refused.
   *
   * @returns milliseconds until the next probe; undefined if the next probe is scheduled already
   */
  refused(now: number): number | undefined;
  /** A connection was accepted. */
  connected(): void;
}

/** @param onOpen called when connections begin to be refused */
export function createCircuitBreaker(onOpen: () => void): CircuitBreaker {
  let failures = 0;
  let probeAt = 0;
  return {
    allows: (now, inFlight) => failures === 0 || (inFlight === 0 && now >= probeAt),
    refused(now) {
      if (failures === 0) onOpen();
      else if (now < probeAt) return undefined;
      const delayMs = Math.min(MAX_PROBE_DELAY_MS, FIRST_PROBE_DELAY_MS * 2 ** failures++);
      probeAt = now + delayMs;
      return delayMs;
    },
    connected() {
      failures = 0;
    },
  };
}
