import type { ReadContext } from "../lists/context.ts";
import { cutSlice, jsonField } from "../lists/cut.ts";
import type { ListReader } from "../lists/filtered-reads.ts";
import { type FetchSize, fetchSize, type ListRows } from "../lists/rows.ts";
import { type PositionCodec, type Slice, type SliceRequest, type SliceStart, startOf } from "../lists/slice.ts";
import type { DepthIndex } from "./depth-index.ts";
import {
  readFilteredRides,
  readRide,
  readRideHours,
  readRides,
  readRidesFromHour,
  type RideFilters,
  type RidePosition,
} from "./queries.ts";

export type { RideFilters, RidePosition } from "./queries.ts";

/** What reading rides needs. */
export interface RideContext extends ReadContext {
  readonly depths: DepthIndex;
}

/** One slice of a system's rides, newest start first. */
export async function listRides(
  context: RideContext,
  whose: ListReader,
  filters: RideFilters,
  request: SliceRequest<RidePosition>,
): Promise<Slice<RidePosition>> {
  const { systemId } = whose;
  const start = startOf(request);
  const size = fetchSize(request.limit);
  const filtered = Object.values(filters).some((value) => value !== undefined);
  const rows = filtered
    ? await context.filtered.read(whose, (db) => readFilteredRides(db, systemId, filters, start, size))
    : await readAllRides(context, systemId, start, size);
  return cutSlice(request, rows, (json) => ({ startedAt: jsonField(json, "started_at"), id: jsonField(json, "id") }));
}

/** By way of the depth index where the page lies deep and the index is up to date. */
async function readAllRides(
  { reader, depths }: RideContext,
  systemId: string,
  start: SliceStart<RidePosition>,
  size: FetchSize,
): Promise<ListRows> {
  if ("after" in start || start.skip === 0) return readRides(reader, systemId, start, size);
  const depth = depths.locate(systemId, start.skip);
  if (depth !== undefined) {
    const rows = await readRidesFromHour(reader, systemId, depth.before, depth.skip, size);
    if (rows.changes === depth.version) return rows;
  }
  depths.refresh(systemId);
  return readRides(reader, systemId, start, size);
}

/** One ride in its JSON; undefined when there is none. */
export function getRide({ reader }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return readRide(reader, systemId, id);
}

const POSITION = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z) (.+)$/s;

/** How many rides started in each hour: what a depth index learns from. */
export const rideHours = readRideHours;

/** A ride's position as cursors hold it. */
export const ridePosition: PositionCodec<RidePosition> = {
  encode: ({ startedAt, id }) => `${startedAt} ${id}`,
  decode(text) {
    const [, startedAt, id] = POSITION.exec(text) ?? [];
    return startedAt === undefined || id === undefined ? undefined : { startedAt, id };
  },
};
