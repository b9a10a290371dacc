import { MAX_PAGE_SIZE, type Station, type StationHistoryQuery } from "@bikeshare/contract";
import type { MappedStation, StationMap } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import { regionsOf, timeZoneOfSystem } from "../city/descriptions/service.ts";
import { flowsOfStation, recentFlows } from "../city/history/flows.ts";
import { stationHistory, stationsAt } from "../city/history/station-history.ts";
import { cityAtAGlance, summaryAgainst, sumsOfStations } from "../city/history/summary.ts";
import { forecastOfStation, typicalOfStation, weekOfStation } from "../city/history/typical.ts";
import { stationsForMap } from "../city/stations/service.ts";
import { type ReadyBody, readyBody, useReadyBody } from "../http/response-body.ts";
import { isoInstant } from "../iso-instant.ts";
import type { FilteredReads } from "../storage/lists/read-context.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleCaller } from "./authorize.ts";
import { type ConsoleContext, type LongReads, type LongRequest, readerOf } from "./context.ts";

/*
 * Routes of the map of stations, of a station's history, and of sums, typical days, flows and forecasts, which are computed
 * from the history.
 */

/**
 * Milliseconds for which a map is served although stations have changed. In a large city one changes every second; nobody
 * reads a map that fast, and making it blocks the process for some milliseconds.
 */
export const STATION_MAP_MIN_AGE_MS = 5_000;

interface MapCall {
  readonly query: { readonly at?: string | undefined };
  readonly request: LongRequest;
  readonly reply: Parameters<typeof useReadyBody>[0];
}

interface HistoryCall {
  readonly params: { readonly id: string };
  readonly query: StationHistoryQuery;
  readonly request: LongRequest;
}

/** Routes of the stations on a map, now and as they were: partners and the operator see the same. */
export function stationRoutesOf(
  context: ConsoleContext,
  filtered: FilteredReads,
): Pick<ConsoleRoutes, "partnerStations" | "systemStations"> {
  const { db, stationMaps, clock } = context;
  // Everything that a map has besides its stations.
  const besidesStations = async (systemId: string): Promise<Omit<StationMap, "data">> => {
    const [regions, timeZone] = await Promise.all([regionsOf(db, systemId), timeZoneOfSystem(db, systemId)]);
    const { mapTiles } = context;
    const tiles = mapTiles === undefined ? null : { url: mapTiles.url, attribution: mapTiles.attribution };
    return { time_zone: timeZone, regions, tiles };
  };
  // Builds the map once for all requests, until the cache is cleared because stations have changed.
  const mapNow = (systemId: string): ReadyBody | Promise<ReadyBody> =>
    stationMaps.get(systemId, "map", async () => {
      const [stations, rest] = await Promise.all([stationsForMap(db, systemId), besidesStations(systemId)]);
      const map: StationMap = { data: stations.map(toMapped), ...rest };
      return readyBody(JSON.stringify(map));
    });
  const mapAt = async (request: LongRequest, at: string): Promise<StationMap> => {
    const whose = readerOf(request);
    const data: MappedStation[] = [];
    let after: string | undefined;
    do {
      const page = after === undefined ? ({ kind: "first" } as const) : ({ kind: "cursor", after } as const);
      const { items, next } = await stationsAt({ filtered, clock }, whose, { at }, { ...page, limit: MAX_PAGE_SIZE });
      // The database keeps the JSON of the contract.
      data.push(...(JSON.parse(`[${items}]`) as Station[]).filter(({ status }) => status !== "removed").map(toMapped));
      after = next;
    } while (after !== undefined);
    return { data, ...(await besidesStations(whose.systemId)) };
  };
  const routes = {
    list: async ({ query: { at }, request, reply }: MapCall) =>
      at === undefined
        ? { status: 200 as const, body: useReadyBody<StationMap>(reply, await mapNow(readerOf(request).systemId)) }
        : { status: 200 as const, body: await mapAt(request, at) },
    history: async ({ params: { id }, query, request }: HistoryCall) => {
      const history = await stationHistory({ filtered, clock }, readerOf(request), id, query);
      if (history === undefined) throw serviceError("not_found", "station");
      return { status: 200 as const, body: history };
    },
  };
  return { partnerStations: routes, systemStations: routes };
}

/** A station from the statement of the map (with a `Date`), or from the contract's JSON (with a text). */
type Row = Omit<MappedStation, "bikes" | "docks" | "last_reported"> &
  Pick<Station, "num_bikes_available" | "num_docks_available"> & { readonly last_reported: Date | string | null };

/** Picks the fields that the map shows. */
function toMapped({
  num_bikes_available: bikes,
  num_docks_available: docks,
  last_reported: at,
  ...row
}: Row): MappedStation {
  const { id, name, lat, lon, capacity, region_id, is_renting, is_returning, status, offline_reason } = row;
  return {
    id,
    name,
    lat,
    lon,
    capacity,
    region_id,
    bikes,
    docks,
    is_renting,
    is_returning,
    status,
    offline_reason,
    last_reported: at instanceof Date ? isoInstant(at.getTime()) : at,
  };
}

/** Routes of a city's activity, sums, flows and forecasts, for the operator. */
export function systemSumsRoutes(context: ConsoleContext, longReads: LongReads): ConsoleRoutes["systemSums"] {
  const { clock, longRideAfterMs } = context;
  const systemOf = (request: LongRequest) => consoleCaller(request).systemId;
  // The statements of one response count as one long read, so that a page waits only once.
  const read = <Body>(request: LongRequest, work: (context: ConsoleContext, systemId: string) => Promise<Body>) =>
    longReads.hold(request, () => work(context, systemOf(request))).then((body) => ({ status: 200 as const, body }));
  return {
    glance: ({ request }) =>
      read(request, ({ db }, systemId) => cityAtAGlance({ db, clock }, systemId, longRideAfterMs)),
    summary: ({ query, request }) =>
      read(request, ({ db }, systemId) => summaryAgainst({ db, clock }, systemId, query)),
    stations: ({ query, request }) =>
      read(request, ({ db }, systemId) => sumsOfStations({ db, clock }, systemId, query)),
    recentFlows: ({ request }) => read(request, ({ db }, systemId) => recentFlows({ db, clock }, systemId)),
    typical: ({ params: { id }, request }) =>
      read(request, ({ db }, systemId) => typicalOfStation({ db, clock }, systemId, id)),
    forecast: ({ params: { id }, query, request }) =>
      read(request, ({ db }, systemId) => forecastOfStation({ db, clock }, systemId, id, query)),
    week: ({ params: { id }, request }) =>
      read(request, ({ db }, systemId) => weekOfStation({ db, clock }, systemId, id)),
    flows: ({ params: { id }, query, request }) =>
      read(request, ({ db }, systemId) => flowsOfStation({ db, clock }, systemId, id, query)),
  };
}

/** Routes of stations over time, for partners. */
export function partnerSumsRoutes({ db, clock }: ConsoleContext, longReads: LongReads): ConsoleRoutes["partnerSums"] {
  return {
    typical: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const body = await longReads.hold(request, () => typicalOfStation({ db, clock }, systemId, id));
      return { status: 200, body };
    },
    week: async ({ params: { id }, request }) => {
      const { systemId } = consoleCaller(request);
      const body = await longReads.hold(request, () => weekOfStation({ db, clock }, systemId, id));
      return { status: 200, body };
    },
  };
}
