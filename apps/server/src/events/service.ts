import type { EventName } from "@bikeshare/contract";
import { type PageRequest, serviceError } from "@bikeshare/rules";
import type { Queryable } from "../storage/db/database.ts";
import { type Page, type PositionCodec, startOf, toPage } from "../storage/lists/page.ts";
import type { ReadContext } from "../storage/lists/read-context.ts";
import type { EventBlocks } from "./event-blocks.ts";
import {
  BEFORE_ALL,
  type DayCount,
  type EventPosition,
  type EventViewer,
  locate,
  readPosition,
  restrictedTo,
  writePosition,
} from "./event.rules.ts";
import {
  countEventsBetween,
  countEventsByDay,
  findEvent,
  findNewestEvent,
  findPosition,
  findPositionAfter,
  type LatestEvent,
  listEventRows,
  listLatestEvents,
} from "./queries.ts";

/*
 * Reads the events list of a system for a viewer: a partner, and the events that its key may read. An event's position is
 * its day and its number. Pages are found by the stored counts of each day, and within a day by counts of blocks
 * (`event-blocks.ts`).
 */

/** The filters of a request for events. */
export interface EventFilters {
  /** Lists only the events with this name. */
  readonly event?: EventName | undefined;
  /** The id of an event: lists only the events after it. `now`: lists nothing, and returns the newest id as checkpoint. */
  readonly after?: string | undefined;
}

/** What the functions that read events need. */
export interface EventContext extends ReadContext {
  readonly eventBlocks: EventBlocks;
}

/** How a cursor writes and reads an event's position. */
export const eventPosition: PositionCodec<EventPosition> = { encode: writePosition, decode: readPosition };

/**
 * Returns a page of the events that a viewer may see, oldest first.
 * @throws ServiceError `checkpoint_lost` when there is no event with the id `after`, or none that the viewer may see
 */
export async function listEvents(
  context: EventContext,
  systemId: string,
  viewer: EventViewer,
  filters: EventFilters,
  request: PageRequest<EventPosition>,
): Promise<Page<EventPosition>> {
  const named = restrictedTo(viewer, filters.event);
  const start = startOf(request);
  // With a cursor, `filters.after` was looked up for an earlier page. The event with that id may have been deleted since;
  // the list continues all the same.
  if ("after" in start) return readPage(context, systemId, named, request, start.after);
  if (filters.after === "now") {
    const checkpoint = await findNewestEvent(context.readPool, systemId, viewer);
    return { items: "", next: undefined, total: 0, checkpoint };
  }
  const after =
    filters.after === undefined ? undefined : await positionOfEvent(context, systemId, viewer, filters.after);
  const days = await countDays(context, systemId, named, after);
  const total = days.reduce((sum, { n }) => sum + n, 0);
  const found = locate(days, start.skip);
  if (found === undefined) return { items: "", next: undefined, total };
  const dayStart = found.day === after?.day ? after : { day: found.day, position: 0 };
  const pageStart = await skipEvents(context, systemId, named, dayStart, found.skip);
  return { ...(await readPage(context, systemId, named, request, pageStart)), total };
}

/** Skips `skip` events after `dayStart`, all on its day. @returns the position after which the page begins */
async function skipEvents(
  { filtered, eventBlocks }: EventContext,
  systemId: string,
  viewer: EventViewer,
  dayStart: EventPosition,
  skip: number,
): Promise<EventPosition> {
  if (skip === 0) return dayStart;
  const { day } = dayStart;
  return filtered.read({ systemId, partnerId: viewer.partnerId }, async (db) => {
    let left = skip;
    let start = dayStart;
    for await (const { upto, n } of eventBlocks.blocksAfter(db, systemId, viewer, dayStart)) {
      if (n > left) break;
      left -= n;
      start = { day, position: upto };
    }
    const first = await findPositionAfter(db, systemId, viewer, start, left);
    // Returns the position before `first`. `first` is undefined only when the events of the day have just been deleted.
    // Then the page begins with the next day: an empty page would have no cursor, and its reader would take the list for
    // ended.
    return first === undefined ? start : { day, position: first - 1 };
  });
}

/** Returns the position of the event with an id. @throws ServiceError `checkpoint_lost` */
async function positionOfEvent(
  { readPool }: ReadContext,
  systemId: string,
  viewer: EventViewer,
  id: string,
): Promise<EventPosition> {
  const found = await findPosition(readPool, systemId, viewer, id);
  if (found !== undefined) return found;
  throw serviceError("checkpoint_lost", "after", { id });
}

/** Returns the number of events on each day. With `after`: the events after that position, on its day and on later days. */
async function countDays(
  { filtered, readPool, eventBlocks }: EventContext,
  systemId: string,
  viewer: EventViewer,
  after: EventPosition | undefined,
): Promise<readonly DayCount[]> {
  if (after === undefined) return countEventsByDay(readPool, systemId, viewer, BEFORE_ALL.day);
  const { day } = after;
  const n = await filtered.read({ systemId, partnerId: viewer.partnerId }, async (db) => {
    let { position } = after;
    let counted = 0;
    for await (const block of eventBlocks.blocksAfter(db, systemId, viewer, after)) {
      counted += block.n;
      position = block.upto;
    }
    return counted + (await countEventsBetween(db, systemId, viewer, { day, position }, Number.MAX_SAFE_INTEGER));
  });
  const rest = { day, n };
  return [rest, ...(await countEventsByDay(readPool, systemId, viewer, after.day))];
}

/** Reads the page that begins after a position. Its total is not counted. */
async function readPage(
  { readPool }: ReadContext,
  systemId: string,
  viewer: EventViewer,
  request: PageRequest<EventPosition>,
  after: EventPosition,
): Promise<Page<EventPosition>> {
  const found = await listEventRows(readPool, systemId, viewer, after, request.limit);
  return toPage(request, { rows: found.rows, total: null }, () => {
    if (found.last_day === null || found.last_position === null)
      throw new Error("a page that goes on has no last event");
    return { day: found.last_day, position: found.last_position };
  });
}

/** Returns an event's JSON; undefined when there is no such event, it has no position yet, or the viewer may not see it. */
export function getEvent(
  { readPool }: ReadContext,
  systemId: string,
  viewer: EventViewer,
  id: string,
): Promise<string | undefined> {
  return findEvent(readPool, systemId, viewer, id);
}

/** Returns the newest `limit` events that a viewer may see and that were numbered on the day `since` or later. */
export function latestEvents(
  { db }: { readonly db: Queryable },
  systemId: string,
  viewer: EventViewer,
  bounds: { readonly since: string; readonly limit: number },
): Promise<LatestEvent[]> {
  return listLatestEvents(db, systemId, viewer, bounds);
}
