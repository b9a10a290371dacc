import type { EventRecord } from "../wire.generated.ts";

/** An event, sent on its way to the receiver. */
export interface Departure {
  readonly event: EventRecord;
  /** Attempts before this one. */
  readonly tries: number;
}

/** Events that are to be delivered, oldest first. Those on their way stand in it until they are done. */
export interface DeliveryLine {
  /** How many are not done. */
  readonly size: number;
  /** How many of them are on their way. */
  readonly open: number;
  add(event: EventRecord): void;
  /**
   * Sends the next one on its way, if one may go: it is due, there is room, and nothing about the same ride, station or
   * reservation is on its way. So what happened to one thing goes in its order, except that what waits for another try
   * holds nothing up.
   *
   * @param now milliseconds since 1970
   */
  depart(now: number): Departure | undefined;
  /** It came back, and goes again at a time, in milliseconds since 1970. */
  again(event: EventRecord, tries: number, dueAt: number): void;
  /** It came back, and never goes again. */
  done(event: EventRecord): void;
  /** Behind which event to begin another day to lose nothing: the one before the oldest that is not done. */
  checkpoint(): string | undefined;
}

interface Standing {
  /** The id of the event before. */
  readonly behind: string | undefined;
  readonly tries: number;
  readonly dueAt: number;
  readonly isOpen: boolean;
}

/**
 * An empty line.
 *
 * @param start the id of the event behind which it begins
 * @param atOnce how many may be on their way
 */
export function createDeliveryLine(start: string | undefined, atOnce: number): DeliveryLine {
  const line = new Map<EventRecord, Standing>();
  let last = start;
  const openEvents = () => [...line].filter(([, { isOpen }]) => isOpen).map(([event]) => event);
  /** Leaves it where it stands in the line. */
  const change = (event: EventRecord, changed: Partial<Standing>) => {
    const standing = line.get(event);
    if (standing !== undefined) line.set(event, { ...standing, ...changed });
  };
  return {
    get size() {
      return line.size;
    },
    get open() {
      return openEvents().length;
    },
    add(event) {
      line.set(event, { behind: last, tries: 0, dueAt: 0, isOpen: false });
      last = event.id;
    },
    depart(now) {
      const open = openEvents();
      if (open.length >= atOnce) return undefined;
      const busy = new Set(open.map(subjectOf));
      const mayGo = ([event, { isOpen, dueAt }]: [EventRecord, Standing]) =>
        !isOpen && dueAt <= now && !busy.has(subjectOf(event));
      const [event, standing] = [...line].find(mayGo) ?? [];
      if (event === undefined || standing === undefined) return undefined;
      change(event, { isOpen: true });
      return { event, tries: standing.tries };
    },
    again: (event, tries, dueAt) => change(event, { tries, dueAt, isOpen: false }),
    done: (event) => void line.delete(event),
    checkpoint() {
      const [oldest] = line.values();
      return oldest === undefined ? last : oldest.behind;
    },
  };
}

/** What an event tells of, by its id. One whose thing has none tells of nothing but itself. */
function subjectOf({ id, data }: EventRecord): unknown {
  return (typeof data === "object" && data !== null && Reflect.get(data, "id")) || id;
}
