import { type Bike, MAX_PAGE_SIZE, type Ride, type Station } from "@bikeshare/contract";
import type { BikeQuery, HistoryQuery, RideQuery, StationChange } from "@bikeshare/contract/console";
import { cursorScope, type PageRequest, readPageRequest, serviceError } from "@bikeshare/rules";
import { endAlert, listAllAlerts, openAlert } from "../city/alerts/service.ts";
import { freeBikes, getBike, listBikes } from "../city/bikes/service.ts";
import { endAbandonedRides } from "../city/fleet/finish-rides.ts";
import { setBikeState, setStationState } from "../city/fleet/operator-acts.ts";
import { reservationOfAnyPartner, reservationsOfAllPartners } from "../city/reservations/service.ts";
import { getRide, listRides, type RideContext } from "../city/rides/service.ts";
import { getStation } from "../city/stations/service.ts";
import { resourceHistory, stationHistory } from "../events/resource-history.ts";
import { jsonBody } from "../http/bind.ts";
import { cursorPosition } from "../http/cursor.ts";
import { idPosition, type Page, type PositionCodec, timePosition } from "../storage/lists/page.ts";
import type { ListReader } from "../storage/lists/read-context.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import { type ConsoleContext, type LongReads, type LongRequest, readerOf } from "./context.ts";
import { namesIn } from "./search/service.ts";

type FleetRoutes = ConsoleRoutes["fleet"];

/**
 * Routes of stations, bikes, rides and reservations for the operator: lists as partners get them, histories, and changes
 * that people make by hand.
 * @param reads the context of the partners' lists, for the statements that both share
 */
export function fleetRoutes(context: ConsoleContext, reads: RideContext, longReads: LongReads): FleetRoutes {
  return {
    station: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const station = await getStation(reads, systemId, id);
      if (station === undefined) throw serviceError("not_found", "station");
      const { changes, searchedTo } = await stationHistory({ db: longReads.databaseFor(request) }, systemId, id);
      const body = {
        station: JSON.parse(station) as Station, // the database keeps the JSON of the contract
        changes: changes as StationChange[], // the statement selects only the events of this type
        ...(searchedTo !== null && { searched_to: searchedTo }),
      };
      return { status: 200, body };
    },
    bikes: listRoute(context, {
      name: "bikes",
      position: idPosition,
      read: (reader, filters: Omit<BikeQuery, "limit" | "cursor">, page) => listBikes(reads, reader, filters, page),
    }),
    freeBikes: async ({ request }) => ({
      status: 200,
      body: await freeBikes(longReads.databaseFor(request), consoleCaller(request).systemId),
    }),
    bike: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const json = await getBike(reads, systemId, id);
      if (json === undefined) throw serviceError("not_found", "bike");
      const bike = JSON.parse(json) as Bike; // the database keeps the JSON of the contract
      return { status: 200, body: { bike, names: await namesIn(context.db, systemId, [bike]) } };
    },
    rides: listRoute(context, {
      name: "rides",
      position: timePosition,
      read: (reader, filters: Omit<RideQuery, "limit" | "cursor">, page) => listRides(reads, reader, filters, page),
    }),
    ride: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const json = await getRide(reads, systemId, id);
      if (json === undefined) throw serviceError("not_found", "ride");
      const ride = JSON.parse(json) as Ride; // the database keeps the JSON of the contract
      return { status: 200, body: { ride, names: await namesIn(context.db, systemId, [ride]) } };
    },
    ...actRoutes(context),
    ...historyRoutes(context, reads, longReads),
  };
}

/** Routes for changes that people of the operator make by hand. */
function actRoutes(context: ConsoleContext): Pick<FleetRoutes, "setStationState" | "setBikeState" | "endRides"> {
  return {
    setStationState: async ({ params: { id }, body: { state }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: await setStationState({ ...context, actor }, systemId, id, state) };
    },
    setBikeState: async ({ params: { id }, body: { state }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: await setBikeState({ ...context, actor }, systemId, id, state) };
    },
    endRides: async ({ body: { ids }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: await endAbandonedRides({ ...context, actor }, systemId, ids, "operator") };
    },
  };
}

/** Routes of reservations, and of the events and deliveries about a station, bike, ride or reservation. */
function historyRoutes(
  context: ConsoleContext,
  reads: RideContext,
  longReads: LongReads,
): Pick<FleetRoutes, "reservations" | "reservation" | "history"> {
  return {
    reservations: async ({ query: { limit, cursor, ...filter }, request }) => {
      const { systemId } = consoleCaller(request);
      const position = cursorPosition(
        context.cursorCipher,
        cursorScope(systemId, "console-reservations", filter),
        timePosition,
      );
      const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
      const { data, next } = await reservationsOfAllPartners(context, systemId, filter, {
        limit: asked.limit,
        ...(asked.kind === "cursor" && { after: asked.after }),
      });
      const names = await namesIn(context.db, systemId, data);
      return { status: 200, body: { data, names, ...(next !== undefined && { next_cursor: position.encode(next) }) } };
    },
    reservation: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const reservation = await reservationOfAnyPartner(context, systemId, id);
      if (reservation === undefined) throw serviceError("not_found", "reservation");
      return { status: 200, body: { reservation, names: await namesIn(context.db, systemId, [reservation]) } };
    },
    history: async ({ query: { of, id }, request }) => {
      const { systemId } = consoleCaller(request);
      const times = await timesOf(context, reads, { systemId, of, id });
      const around = times.flatMap((at) => (at === null ? [] : [Date.parse(at)]));
      const { events, isComplete } = await resourceHistory(
        { db: longReads.databaseFor(request) },
        systemId,
        id,
        around,
      );
      const data = events.map((event) => ({ ...event, deliveries: [...event.deliveries] }));
      return { status: 200, body: { data, is_complete: isComplete } };
    },
  };
}

/**
 * Returns the times around which `resourceHistory` searches the list of events: when a ride or reservation changed. None for
 * a bike or a station: without times it finds what was delivered about them.
 */
async function timesOf(
  context: ConsoleContext,
  reads: RideContext,
  { systemId, of, id }: HistoryQuery & { readonly systemId: string },
): Promise<(string | null)[]> {
  if (of === "reservation") {
    const reservation = await reservationOfAnyPartner(context, systemId, id);
    if (reservation === undefined) throw serviceError("not_found", "reservation");
    return [reservation.created_at, reservation.cancelled_at, reservation.updated_at];
  }
  if (of !== "ride") return [];
  const json = await getRide(reads, systemId, id);
  if (json === undefined) throw serviceError("not_found", "ride");
  const ride = JSON.parse(json) as Ride; // the database keeps the JSON of the contract
  return [ride.started_at, ride.ended_at, ride.updated_at];
}

interface FleetList<Position, Filters> {
  readonly name: string;
  readonly position: PositionCodec<Position>;
  read(reader: ListReader, filters: Filters, page: PageRequest<Position>): Promise<Page<Position>>;
}

interface ListCall<Filters> {
  readonly query: Filters & { readonly limit?: number | undefined; readonly cursor?: string | undefined };
  readonly request: LongRequest;
}

/** Returns the route of a list. The list's items are JSON of the contract, which is sent as it is. */
function listRoute<Position, Filters extends object>(
  { cursorCipher, db }: ConsoleContext,
  list: FleetList<Position, Filters>,
) {
  return async ({ query: { limit, cursor, ...rest }, request }: ListCall<Filters>) => {
    const { systemId } = consoleCaller(request);
    const filters = rest as unknown as Filters; // what remains of the query when the paging parameters are taken out
    const scope = cursorScope(systemId, `console-${list.name}`, rest);
    const position = cursorPosition(cursorCipher, scope, list.position);
    const asked = readPageRequest({ limit, cursor }, (text) => position.decode(text));
    const { items, next, total } = await list.read(readerOf(request), filters, asked);
    const rows = JSON.parse(`[${items}]`) as Ride[]; // or bikes: `namesIn` reads whichever ids they have
    const names = JSON.stringify(await namesIn(db, systemId, rows));
    const count = total === undefined ? "" : `,"total":${total}`;
    const more = next === undefined ? "" : `,"next_cursor":"${position.encode(next)}"`;
    return { status: 200 as const, body: jsonBody<never>(`{"data":[${items}],"names":${names}${count}${more}}`) };
  };
}

/** Routes with which the operator tells riders of closures, moves and disturbances. */
export function alertRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["alerts"] {
  return {
    list: async ({ query: { status }, request }) => {
      const options = { status, limit: MAX_PAGE_SIZE, now: new Date(context.clock()) };
      const { systemId } = consoleCaller(request);
      const { alerts: data, total } = await listAllAlerts(longReads.databaseFor(request), systemId, options);
      return { status: 200, body: { data, total } };
    },
    open: async ({ body, request }) => {
      const { systemId, actor } = consoleCaller(request);
      const item = { ...body, id: body.id ?? context.ids.next("alert") };
      return { status: 200, body: await openAlert({ ...context, actor }, systemId, item) };
    },
    end: async ({ params: { id }, request }) => {
      const { systemId, actor } = consoleCaller(request);
      return { status: 200, body: await endAlert({ ...context, actor }, systemId, id) };
    },
  };
}
