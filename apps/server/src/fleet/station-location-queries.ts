import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

/** Where a station stands. */
export type StationPlace = Pick<Tables["stations"], "id" | "lat" | "lon" | "counters">;

const places = statement(
  "stations.places",
  `select id, lat, lon, counters from stations where system_id = $1 and id = any($2::text[]) and status <> 'removed'`,
);

/** The places of those of the stations that there are, by id. */
export async function stationPlaces(
  db: Queryable,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, StationPlace>> {
  if (ids.length === 0) return new Map();
  const rows = await db.query<StationPlace>(places, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row]));
}
