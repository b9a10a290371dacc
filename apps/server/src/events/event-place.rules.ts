import { z } from "zod";

/**
 * Where an event happened. A webhook endpoint may be limited to some stations, regions or a box: then it receives an event
 * only if the event's place matches. Lists are written as PostgreSQL arrays: `{"a","b"}`.
 */
export interface EventPlace {
  /** Ids of the event's stations. For a ride: the stations where the ride starts and ends. */
  readonly station_ids: string;
  /** Ids of the regions that the resource lists in `region_ids`, as an alert does. */
  readonly region_ids: string;
  /** The bike's position in degrees, as `lat`; null when the resource is not a bike, or the bike's position is unknown. */
  readonly lon: number | null;
  readonly lat: number | null;
  /** True for an alert that names neither stations nor regions: it concerns the whole system. */
  readonly is_everywhere: boolean;
}

const id = z.string().nullable().catch(null);
const ids = z.array(z.string()).catch([]);
const degrees = z.number().nullable().catch(null);
const resource = z.object({
  id,
  station_id: id,
  start_station_id: id,
  end_station_id: id,
  station_ids: ids,
  region_ids: ids,
  lon: degrees,
  lat: degrees,
});

/**
 * Returns where an event happened. `webhooks/endpoints/endpoint-queries.ts` does the same in SQL, for listed events.
 * @param name the event's name, such as `ride.started`
 * @param data the JSON of the event's resource
 */
export function placeOf(name: string, data: string): EventPlace {
  const [kind] = name.split(".");
  const read = resource.safeParse(JSON.parse(data));
  if (!read.success) return { station_ids: "{}", region_ids: "{}", lon: null, lat: null, is_everywhere: false };
  const about = read.data;
  const stations = kind === "station" ? [about.id] : [about.start_station_id, about.end_station_id, about.station_id];
  const station_ids = [...stations.filter((each) => each !== null), ...about.station_ids];
  return {
    station_ids: arrayText(station_ids),
    region_ids: arrayText(about.region_ids),
    lon: kind === "bike" ? about.lon : null,
    lat: kind === "bike" ? about.lat : null,
    is_everywhere: kind === "alert" && station_ids.length + about.region_ids.length === 0,
  };
}

/** Writes texts as a PostgreSQL array. */
function arrayText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
