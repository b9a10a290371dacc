import { MAX_PAGE_SIZE, type Station, type StationHistoryQuery } from "@bikeshare/contract";
import type { MappedStation, StationMap } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import { regionsOf } from "../city/descriptions/lists.ts";
import { timeZoneOfSystem } from "../city/descriptions/service.ts";
import { stationHistory, stationsAt } from "../city/history/station-history.ts";
import { stationsForMap } from "../city/stations/service.ts";
import { type ReadyBody, readyBody, useReadyBody } from "../http/response-body.ts";
import { isoInstant } from "../iso-instant.ts";
import type { FilteredReads } from "../storage/lists/read-context.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { type ConsoleContext, type LongRequest, readerOf } from "./context.ts";

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
  const whatHolds = async (systemId: string): Promise<Omit<StationMap, "data">> => {
    const [regions, timeZone] = await Promise.all([regionsOf(db, systemId), timeZoneOfSystem(db, systemId)]);
    const { mapTiles } = context;
    const tiles = mapTiles === undefined ? null : { url: mapTiles.url, attribution: mapTiles.attribution };
    return { time_zone: timeZone, regions, tiles };
  };
  // Made once for all who ask.
  const mapNow = (systemId: string): ReadyBody | Promise<ReadyBody> =>
    stationMaps.get(systemId, "map", async () => {
      const [stations, rest] = await Promise.all([stationsForMap(db, systemId), whatHolds(systemId)]);
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
    return { data, ...(await whatHolds(whose.systemId)) };
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

type Row = Omit<MappedStation, "bikes" | "docks" | "last_reported"> &
  Pick<Station, "num_bikes_available" | "num_docks_available"> & { readonly last_reported: Date | string | null };

function toMapped({
  num_bikes_available: bikes,
  num_docks_available: docks,
  last_reported: at,
  ...row
}: Row): MappedStation {
  const { id, name, lat, lon, capacity, region_id, is_renting, is_returning, status, offline_reason } = row;
  return {
    ...{ id, name, lat, lon, capacity, region_id, bikes, docks, is_renting, is_returning, status, offline_reason },
    last_reported: at instanceof Date ? isoInstant(at.getTime()) : at,
  };
}
