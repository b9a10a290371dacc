import { z } from "zod";

/** What an event is about, for endpoints that ask for places. Lists are texts of PostgreSQL's arrays. */
export interface EventPlace {
  /** Its stations: of a ride where it starts and where it ends. */
  readonly station_ids: string;
  /** The regions that it names itself, as alerts do. */
  readonly region_ids: string;
  /** Its own position, as bikes have one. */
  readonly lon: number | null;
  readonly lat: number | null;
  /** It is about the whole system. */
  readonly is_everywhere: boolean;
}

const id = z.string().nullable().catch(null);
const ids = z.array(z.string()).catch([]);
const degrees = z.number().nullable().catch(null);
const resource = z.object({
  ...{ id, station_id: id, start_station_id: id, end_station_id: id },
  ...{ station_ids: ids, region_ids: ids, lon: degrees, lat: degrees },
});

/** Returns what an event is about. The preview of an endpoint reads the same from history, in SQL. */
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

function arrayText(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replaceAll(/["\\]/g, "\\$&")}"`).join(",")}}`;
}
