import type { MappedStation, StationMap } from "@bikeshare/contract/console";
import { stationsForMap } from "../city/stations/service.ts";
import { type ReadyBody, readyBody, useReadyBody } from "../http/response-body.ts";
import { isoInstant } from "../iso-instant.ts";
import type { ConsoleRoutes } from "./answers.ts";
import type { ConsoleContext } from "./context.ts";

/**
 * Milliseconds for which a map is served although stations have changed. In a large city one changes every second; nobody
 * reads a map that fast, and making it blocks the process for some milliseconds.
 */
export const STATION_MAP_MIN_AGE_MS = 5_000;

type Routes = ConsoleRoutes;
type MapOf = (systemId: string) => ReadyBody | Promise<ReadyBody>;

/** Makes the map of a system: partners and the operator see the same, so it is made once for all. */
export function stationMapOf({ db, stationMaps }: ConsoleContext): MapOf {
  return (systemId) =>
    stationMaps.get(systemId, "map", async () => {
      const map: StationMap = { data: (await stationsForMap(db, systemId)).map(toMapped) };
      return readyBody(JSON.stringify(map));
    });
}

/** The stations of a partner's system. */
export function partnerStationRoutes(mapOf: MapOf): Routes["partnerStations"] {
  return {
    list: async ({ params, reply }) => ({ status: 200, body: useReadyBody(reply, await mapOf(params.system_id)) }),
  };
}

/** The same for the operator. */
export function systemStationRoutes(mapOf: MapOf): Routes["systemStations"] {
  return {
    list: async ({ params, reply }) => ({ status: 200, body: useReadyBody(reply, await mapOf(params.system_id)) }),
  };
}

type Row = Awaited<ReturnType<typeof stationsForMap>>[number];

function toMapped({ num_bikes_available, num_docks_available, last_reported, ...row }: Row): MappedStation {
  return {
    ...row,
    bikes: num_bikes_available,
    docks: num_docks_available,
    last_reported: last_reported === null ? null : isoInstant(last_reported.getTime()),
  };
}
