import { type Flow, type FlowList, type FlowQuery, MIN_FLOW_RIDES } from "@bikeshare/contract";
import type { RecentFlows, StationFlows, StationFlowsQuery } from "@bikeshare/contract/console";
import { addDays, type PageRequest, readDayRange } from "@bikeshare/rules";
import type { QueryRunner } from "../../storage/db/database.ts";
import type { PositionCodec } from "../../storage/lists/page.ts";
import { timeZoneOfSystem } from "../descriptions/service.ts";
import { findLocalTime, listNeighbours, listPairs, listRecentPairs } from "./queries.ts";
import { findSumProgress } from "./sums-queries.ts";

// Flows are the numbers of rides between pairs of stations. Partners get no pairs with few rides, the operator gets all.

/** The dependencies of reading flows. */
interface FlowContext {
  readonly db: QueryRunner;
  readonly clock: () => number;
}

/** The pair of stations after which a page begins. */
export type FlowPosition = readonly [start: string, end: string];

/** How a cursor writes and reads a `FlowPosition`. */
export const flowPosition: PositionCodec<FlowPosition> = {
  encode: (pair) => JSON.stringify(pair),
  decode(text) {
    const pair = JSON.parse(text) as unknown; // the cipher has proved that we wrote it
    return Array.isArray(pair) && pair.length === 2 ? [String(pair[0]), String(pair[1])] : undefined;
  },
};

/** Maximum number of pairs that are read for a page. When nearly all are left out, the page has few pairs or none. */
const MAX_PAIRS = 2_000;

/** A page of flows, and the pair after which the next one begins. */
export interface FlowPage extends Omit<FlowList, "next_cursor"> {
  readonly next: FlowPosition | undefined;
}

/** Returns a page of the rides between pairs of stations. @throws ServiceError `invalid_parameter` */
export async function listFlows(
  { db, clock }: FlowContext,
  systemId: string,
  query: Pick<FlowQuery, "from" | "to" | "station_id">,
  page: PageRequest<FlowPosition>,
): Promise<FlowPage> {
  const timeZone = await timeZoneOfSystem(db, systemId);
  const { day: today } = await findLocalTime(db, timeZone, new Date(clock()));
  // Ends with yesterday by default, because the flows of today are not complete.
  const { from, to } = readDayRange(query, { to: addDays(today, -1), days: 7 });
  const progress = await findSumProgress(db, systemId);
  // Every pair of ids follows the pair of empty ids.
  const after = page.kind === "cursor" ? page.after : (["", ""] as const);
  // One pair more than may be shown, to see whether the list goes on.
  const limit = MAX_PAIRS + 1;
  const pairs = await listPairs(db, systemId, { from, to, stationId: query.station_id, after, limit });
  const summedTo = progress?.flows_to?.toISOString() ?? null;
  return { from, to, time_zone: timeZone, summed_to: summedTo, ...pageOf(pairs, page.limit) };
}

/** Leaves out pairs with few rides and counts them, up to the last pair that fits. */
function pageOf(pairs: readonly Flow[], limit: number): Pick<FlowPage, "data" | "left_out" | "next"> {
  const data: Flow[] = [];
  const left_out = { pairs: 0, rides: 0 };
  let last: Flow | undefined;
  for (const [index, pair] of pairs.entries()) {
    if (data.length === limit || index === MAX_PAIRS) {
      return { data, left_out, next: last && [last.start_station_id, last.end_station_id] };
    }
    last = pair;
    if (pair.rides >= MIN_FLOW_RIDES) data.push(pair);
    else {
      left_out.pairs++;
      left_out.rides += pair.rides;
    }
  }
  return { data, left_out, next: undefined };
}

/** Maximum number of neighbours that are shown of a station. */
const MAX_NEIGHBOURS = 50;

/** Returns where a station's rides come from and go to, for the operator, who may see every ride. */
export async function flowsOfStation(
  { db, clock }: FlowContext,
  systemId: string,
  stationId: string,
  query: StationFlowsQuery,
): Promise<StationFlows> {
  const timeZone = await timeZoneOfSystem(db, systemId);
  const { day: today } = await findLocalTime(db, timeZone, new Date(clock()));
  const { from, to } = readDayRange(query, { to: today, days: 28 });
  const progress = await findSumProgress(db, systemId);
  const asked = { stationId, from, to, limit: MAX_NEIGHBOURS };
  const out = await listNeighbours(db, systemId, "out", asked);
  const incoming = await listNeighbours(db, systemId, "in", asked);
  return {
    station_id: stationId,
    from,
    to,
    time_zone: timeZone,
    summed_to: progress?.flows_to?.toISOString() ?? null,
    out: out.map(({ total: _, ...neighbour }) => neighbour),
    in: incoming.map(({ total: _, ...neighbour }) => neighbour),
    // Each neighbour has the total of all; without neighbours there were no rides.
    rides_out: out[0]?.total ?? 0,
    rides_in: incoming[0]?.total ?? 0,
  };
}

const HOUR_MS = 3_600_000;
/** Maximum number of pairs that are shown of the last hour. */
const MAX_RECENT_PAIRS = 500;

/** Returns where the rides went that ended in the last hour, for the operator. */
export async function recentFlows({ db, clock }: FlowContext, systemId: string): Promise<RecentFlows> {
  const to = new Date(clock());
  const from = new Date(to.getTime() - HOUR_MS);
  const pairs = await listRecentPairs(db, systemId, { from, to, limit: MAX_RECENT_PAIRS });
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    data: pairs.map(({ total: _, ...flow }) => flow),
    rides: pairs[0]?.total ?? 0,
  };
}
