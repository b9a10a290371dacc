import { api } from "./api.ts";
import { useQuery } from "./queries.ts";

/**
 * Returns every station and region of a system, to draw them, name them or choose from them; undefined until they are
 * loaded.
 */
export function useStationMap(systemId: string) {
  return useQuery({
    // "once": read without an interval. The map page has a query of its own, which repeats (`useStations`).
    queryKey: ["stations", systemId, "once"],
    queryFn: ({ signal }) => api.systemStations.list({ params: { system_id: systemId }, signal }),
  }).data;
}
