import { api } from "./api.ts";
import { useQuery } from "./queries.ts";

/**
 * Returns every station and region of a system, to draw them, name them or choose from them; undefined until they are
 * loaded.
 */
export function useStationMap(systemId: string) {
  return useQuery({
    queryKey: ["stations", systemId, "once"],
    queryFn: ({ signal }) => api.systemStations.list({ params: { system_id: systemId }, signal }),
  }).data;
}
