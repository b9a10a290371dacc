import { type EventName, eventNames, scopeOfEvent } from "@bikeshare/contract";

/** A reader of events: a partner, and the events that the scopes of its key allow it to read. */
export interface EventViewer {
  readonly partnerId: string;
  /** The names of the events whose resource the viewer may read. */
  readonly names: readonly EventName[];
}

/** Returns the viewer for a partner's key with these scopes. */
export function viewerWith(partnerId: string, scopes: readonly string[]): EventViewer {
  return { partnerId, names: eventNames.filter((name) => scopes.includes(scopeOfEvent(name))) };
}

/** Returns the viewer, restricted to the events of one name. With `name` undefined, returns the viewer unchanged. */
export function restrictedTo(viewer: EventViewer, name: EventName | undefined): EventViewer {
  return name === undefined ? viewer : { ...viewer, names: viewer.names.filter((visible) => visible === name) };
}

/** The position of an event in its system's list. Days never decrease from one position to the next. */
export interface EventPosition {
  /** The day on which the event was numbered, in UTC: `2026-01-31`. */
  readonly day: string;
  /** The event's number in its system, counted from 1 without gaps. */
  readonly position: number;
}

/** The position before the first event of every system. */
export const BEFORE_ALL: EventPosition = { day: "0001-01-01", position: 0 };

const POSITION = /^(\d{4}-\d{2}-\d{2}) (\d{1,15})$/;

/** Writes an event's position as a text: `2026-01-31 17`. */
export function writePosition({ day, position }: EventPosition): string {
  return `${day} ${position}`;
}

/** Reads a text that `writePosition` wrote; undefined when the text is not a position. */
export function readPosition(text: string): EventPosition | undefined {
  const [, day, position] = POSITION.exec(text) ?? [];
  return day === undefined || position === undefined ? undefined : { day, position: Number(position) };
}

/** The number of requested events on a day. */
export interface DayCount {
  readonly day: string;
  readonly n: number;
}

/**
 * Finds where a page begins that leaves out the first `skip` events: the day, and how many events of that day to leave out.
 * Returns undefined when there are at most `skip` events.
 * @param days in their order
 */
export function locate(
  days: readonly DayCount[],
  skip: number,
): { readonly day: string; readonly skip: number } | undefined {
  let left = skip;
  for (const { day, n } of days) {
    if (left < n) return { day, skip: left };
    left -= n;
  }
  return undefined;
}
