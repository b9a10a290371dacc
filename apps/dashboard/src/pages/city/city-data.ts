/** The queries of the pages about the city, and how long each result is fresh. */
import type { Glance } from "@bikeshare/contract/console";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import type { CityMapProps } from "../../components/map/city-map.tsx";

/** Milliseconds between two reads of live data. The list of stations has an ETag, so an unchanged one costs little. */
const LIVE_MS = 10_000;
/**
 * Milliseconds after which sums over hours or days are read again. Those of a week are not read at intervals:
 * once they are this old, they are read again when the page is opened, or the window gets the focus.
 */
export const SUMS_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Who views a system: the operator, or a partner's people if `partnerId` is defined. */
export interface Viewer {
  readonly systemId: string;
  readonly partnerId: string | undefined;
}

/** Reads the present state of the city. */
export function useGlance(systemId: string) {
  return useQuery({
    queryKey: ["city", systemId, "glance"],
    queryFn: ({ signal }) => api.systemSums.glance({ params: { system_id: systemId }, signal }),
    refetchInterval: LIVE_MS,
  });
}

/**
 * Returns since when a station is empty or full. Null: for longer than the history goes back. Undefined: the station is
 * neither, or `glance` is not loaded or does not list it.
 */
export function lastingSince(glance: Glance | undefined, stationId: string): string | null | undefined {
  const lasting = glance && [...glance.stations.empty.data, ...glance.stations.full.data];
  return lasting?.find(({ id }) => id === stationId)?.since;
}

/** Reads all stations, as they are now or as they were at an instant. */
export function useStations({ systemId, partnerId }: Viewer, at?: string) {
  const query = at === undefined ? {} : { at };
  return useQuery({
    queryKey: ["stations", systemId, partnerId, at],
    queryFn: ({ signal }) =>
      partnerId === undefined
        ? api.systemStations.list({ params: { system_id: systemId }, query, signal })
        : api.partnerStations.list({ params: { system_id: systemId, partner_id: partnerId }, query, signal }),
    ...(at === undefined ? { refetchInterval: LIVE_MS } : { staleTime: Number.POSITIVE_INFINITY }),
    // While another instant is loading, the map keeps showing the previous one.
    placeholderData: (before) => before,
  });
}

/** Reads the rides and the empty minutes of each station in the last seven days. */
export function useWeekOfStations(systemId: string) {
  // Starts at a full hour, so that the request, and its cache key, stay the same for an hour.
  const weekAgo = new Date().getTime() - 7 * DAY_MS;
  const from = new Date(Math.floor(weekAgo / HOUR_MS) * HOUR_MS).toISOString();
  return useQuery({
    queryKey: ["city", systemId, "week", from],
    queryFn: ({ signal }) => api.systemSums.stations({ params: { system_id: systemId }, query: { from }, signal }),
    staleTime: SUMS_MS,
  });
}

/** Layers that a map can show. */
export const layers = ["bikes", "flows", "empty"] as const;
export type Layer = (typeof layers)[number];

/**
 * Reads the data of the chosen layers: free-standing bikes, the rides of the last hour as arcs, and a shade for the share of
 * today for which each station was empty.
 */
export function useLayers(systemId: string, chosen: readonly Layer[]): Pick<CityMapProps, "bikes" | "flows" | "shade"> {
  const params = { system_id: systemId };
  const bikes = useQuery({
    queryKey: ["city", systemId, "free-bikes"],
    queryFn: ({ signal }) => api.fleet.freeBikes({ params, signal }),
    refetchInterval: LIVE_MS,
    enabled: chosen.includes("bikes"),
  });
  const flows = useQuery({
    queryKey: ["city", systemId, "recent-flows"],
    queryFn: ({ signal }) => api.systemSums.recentFlows({ params, signal }),
    refetchInterval: SUMS_MS,
    enabled: chosen.includes("flows"),
  });
  const today = useQuery({
    queryKey: ["city", systemId, "today"],
    queryFn: ({ signal }) => api.systemSums.stations({ params, query: {}, signal }),
    refetchInterval: SUMS_MS,
    enabled: chosen.includes("empty"),
  });
  const shown: { -readonly [Name in "bikes" | "flows" | "shade"]?: CityMapProps[Name] } = {};
  if (chosen.includes("bikes") && bikes.data) shown.bikes = bikes.data.data;
  if (chosen.includes("flows") && flows.data) shown.flows = flows.data.data.map(flowOf);
  if (chosen.includes("empty") && today.data) {
    const minutes = (Date.parse(today.data.to) - Date.parse(today.data.from)) / 60_000;
    shown.shade = new Map(today.data.data.map(({ id, minutes_empty: empty }) => [id, Math.min(1, empty / minutes)]));
  }
  return shown;
}

function flowOf(flow: { readonly start_station_id: string; readonly end_station_id: string; readonly rides: number }) {
  return { from: flow.start_station_id, to: flow.end_station_id, rides: flow.rides };
}
