import type { EventRecord } from "../../json-types.generated.ts";

/*
 * Decides which event the command `listen` sends next to the developer's receiver: the queue of events in their order, and
 * the circuit breaker that holds them while nothing listens there. dispatcher.ts sends them.
 */

/** One attempt to send an event. */
export interface Delivery {
  readonly event: EventRecord;
  /** Attempts before this one. */
  readonly attempts: number;
}

interface Entry {
  /** The id of the event that was added before this one; for the first, `start`. */
  readonly previousId: string | undefined;
  readonly attempts: number;
  /** Milliseconds since 1970; 0: at once. */
  readonly dueAt: number;
  readonly isInFlight: boolean;
}

/** Events to be delivered, oldest first. An event stays in the queue until it is delivered or given up. */
export type DeliveryQueue = ReturnType<typeof createDeliveryQueue>;

/**
 * Creates an empty queue.
 * @param start the id of the event after which the listening begins; undefined: it begins with the oldest
 * @param concurrency maximum deliveries in flight
 */
export function createDeliveryQueue(start: string | undefined, concurrency: number) {
  const queue = new Map<EventRecord, Entry>();
  let lastId = start;
  const eventsInFlight = () => [...queue].filter(([, { isInFlight }]) => isInFlight).map(([event]) => event);
  /** Changes an event's entry. The event keeps its position in the queue. */
  const update = (event: EventRecord, changes: Partial<Entry>) => {
    const entry = queue.get(event);
    if (entry !== undefined) queue.set(event, { ...entry, ...changes });
  };
  return {
    /** The number of unfinished events. */
    get size() {
      return queue.size;
    },
    /** The number of events in flight. */
    get inFlight() {
      return eventsInFlight().length;
    },
    add(event: EventRecord) {
      queue.set(event, { previousId: lastId, attempts: 0, dueAt: 0, isInFlight: false });
      lastId = event.id;
    },
    /**
     * Starts the next delivery: the oldest event that is due, if fewer than `concurrency` are in flight. An event waits
     * while another one about the same resource is in flight, so that events about one resource keep their order unless
     * an attempt fails: an event that waits for its retry does not hold up later ones.
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
    /** Records that an attempt failed. @param dueAt the time of the next attempt, in milliseconds since 1970 */
    retryAt: (event: EventRecord, attempts: number, dueAt: number) =>
      update(event, { attempts, dueAt, isInFlight: false }),
    /** Removes an event that was delivered or given up. */
    remove: (event: EventRecord) => void queue.delete(event),
    /** Returns the id of the event before the oldest unfinished one. A later run that continues after it loses no event. */
    checkpoint() {
      const [oldest] = queue.values();
      return oldest === undefined ? lastId : oldest.previousId;
    },
  };
}

/** Returns the id of the resource that an event is about, or the event's own id if the resource has none. */
function subjectOf({ id, data }: EventRecord): unknown {
  return (typeof data === "object" && data !== null && Reflect.get(data, "id")) || id;
}

/**
 * The first and the longest delay between two probes of a receiver that refuses connections. Each delay is twice the
 * previous one, up to the longest.
 */
const FIRST_PROBE_DELAY_MS = 1_000;
const MAX_PROBE_DELAY_MS = 10_000;

/** A circuit breaker: while the receiver refuses connections, only one delivery at a time is sent, to probe it. */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>;

/** @param onOpen called when connections begin to be refused */
export function createCircuitBreaker(onOpen: () => void) {
  let failures = 0;
  let probeAt = 0;
  return {
    /** Tells whether another delivery may be sent. @param now milliseconds since 1970 */
    allows: (now: number, inFlight: number) => failures === 0 || (inFlight === 0 && now >= probeAt),
    /** Records a refused connection. @returns the time of the next probe; undefined if one is scheduled already */
    refused(now: number): number | undefined {
      if (failures === 0) onOpen();
      else if (now < probeAt) return undefined;
      probeAt = now + Math.min(MAX_PROBE_DELAY_MS, FIRST_PROBE_DELAY_MS * 2 ** failures++);
      return probeAt;
    },
    /** Records an attempt whose connection was not refused. */
    connected() {
      failures = 0;
    },
  };
}
