import type { ReadContext } from "../lists/context.ts";
import { cutSlice, wireField } from "../lists/cut.ts";
import { fetchSize } from "../lists/rows.ts";
import { type PositionCodec, type Slice, type SliceRequest, startOf } from "../lists/slice.ts";
import { readFilteredRides, readRide, readRides, type RideFilters, type RidePosition } from "./queries.ts";

export type { RideFilters, RidePosition } from "./queries.ts";

/** One slice of a system's rides, newest start first. */
export async function listRides(
  { db, reader }: ReadContext,
  systemId: string,
  filters: RideFilters,
  request: SliceRequest<RidePosition>,
): Promise<Slice<RidePosition>> {
  const start = startOf(request);
  const size = fetchSize(request.limit);
  const filtered = Object.values(filters).some((value) => value !== undefined);
  const rows = filtered
    ? await readFilteredRides(db, systemId, filters, start, size)
    : await readRides(reader, systemId, start, size);
  return cutSlice(request, rows, (wire) => ({ startedAt: wireField(wire, "started_at"), id: wireField(wire, "id") }));
}

/** One ride in its wire form; undefined when there is none. */
export function getRide({ reader }: ReadContext, systemId: string, id: string): Promise<string | undefined> {
  return readRide(reader, systemId, id);
}

const POSITION = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z) (.+)$/s;

/** A ride's position as cursors hold it. */
export const ridePosition: PositionCodec<RidePosition> = {
  encode: ({ startedAt, id }) => `${startedAt} ${id}`,
  decode(text) {
    const [, startedAt, id] = POSITION.exec(text) ?? [];
    return startedAt === undefined || id === undefined ? undefined : { startedAt, id };
  },
};
