import { eventNames } from "@bikeshare/contract";
import type { PageRequest } from "@bikeshare/rules";
import { listBikes } from "../../src/city/bikes/service.ts";
import { createChangeWatch } from "../../src/city/changes/service.ts";
import { listReservations } from "../../src/city/reservations/service.ts";
import { createRideMemory, learnRideDays } from "../../src/city/rides/memory.ts";
import { listRides } from "../../src/city/rides/service.ts";
import { listStations } from "../../src/city/stations/service.ts";
import { createEventBlocks } from "../../src/events/event-blocks.ts";
import { listEvents } from "../../src/events/service.ts";
import type { Database } from "../../src/storage/db/database.ts";
import type { Page } from "../../src/storage/lists/page.ts";
import { createRowMemory } from "../../src/storage/lists/row-memory.ts";
import { type ListName, PARTNER } from "./rows.ts";
import type { Meter } from "./work.ts";

/** Items on each page. */
export const LIMIT = 50;

/** Reads a page of a list, with filters as their parameters' texts. */
type Read = (filters: Readonly<Record<string, string>>, request: PageRequest<never>) => Promise<Page<unknown>>;

/**
 * Returns a function that reads a list as its endpoint does.
 * @param meter records the statements of the reads (work.ts)
 */
export async function readerOf(name: ListName, db: Database, meter: Meter): Promise<Read> {
  const { readPool } = meter.context;
  const context = {
    ...meter.context,
    rowMemory: createRowMemory({ db, readPool, follow: createChangeWatch(readPool) }),
  };
  const clock = () => Date.now();
  const whose = { systemId: "main", partnerId: PARTNER };
  /** Parses `bbox`, as the contract does for a request. */
  const inMap = ({ bbox, ...filters }: Readonly<Record<string, string>>) => {
    const [west = 0, south = 0, east = 0, north = 0] = bbox?.split(",").map(Number) ?? [];
    return { ...filters, ...(bbox === undefined ? {} : { bbox: { west, south, east, north } }) };
  };
  switch (name) {
    case "bikes":
      return (filters, request) => listBikes(context, whose, inMap(filters), request);
    case "stations":
      return (filters, request) => listStations(context, whose, inMap(filters), request);
    case "reservations":
      return (filters, request) => listReservations({ ...context, clock }, whose, filters, request);
    case "events": {
      const viewer = { partnerId: PARTNER, names: eventNames };
      const eventBlocks = createEventBlocks();
      return (filters, request) => listEvents({ ...context, eventBlocks }, "main", viewer, filters, request);
    }
    case "rides": {
      const memory = createRideMemory(db, clock);
      await learnRideDays(db, memory);
      return (filters, request) => listRides({ ...context, ...memory }, whose, filters, request);
    }
  }
}

/** Returns a page request of each kind: numbered pages all over the list, and one page by cursor. */
export async function pagesOf(read: Read, filters: Readonly<Record<string, string>>) {
  const { total = 0, next } = await read(filters, { kind: "first", limit: LIMIT });
  const pages = Math.max(1, Math.ceil(total / LIMIT));
  const at = (share: number) => ({ kind: "page", page: Math.ceil(pages * share), limit: LIMIT }) as const;
  return new Map<string, PageRequest<never>>([
    ["first", { kind: "first", limit: LIMIT }],
    ["middle", at(0.5)],
    ["late", at(0.83)],
    ["last", at(1)],
    // The cast is safe, because the position comes from the same list.
    ...(next === undefined ? [] : [["cursor", { kind: "cursor", after: next as never, limit: LIMIT }] as const]),
  ]);
}
