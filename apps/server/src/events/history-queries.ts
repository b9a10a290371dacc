import type { Queryable } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";

/** An event of a station. */
export interface StationEvent {
  readonly id: string;
  readonly name: string;
  readonly occurred_at: string;
  readonly offline_reason: string | null;
}

/** Events that were looked at, and those of the station. */
export interface StationEvents {
  readonly changes: readonly StationEvent[];
  /** When the oldest event happened that was looked at. */
  readonly searched_to: string | null;
  readonly scanned: number;
}

const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

// Events have no index by resource, which every ride would pay for. The names of stations' events have one for partners, and
// are few: only so many of them are looked at.
const list = statement(
  "events.ofStation",
  `with scanned as materialized (
     select found.*
     from unnest(array['station.offline', 'station.online']) as seen(name)
     cross join lateral (
       select e.id, e.name, e.position, e.occurred_at, e.data from events e
       where e.system_id = $1 and coalesce(e.partner_id, '') = '' and e.name = seen.name
       order by e.position desc limit $3) as found),
   changed as (
     select id, name, ${instant("occurred_at")} as occurred_at, data::json ->> 'offline_reason' as offline_reason, position
     from scanned where data::json ->> 'id' = $2 order by position desc limit $4)
   select (select count(*) from scanned) as scanned, (select ${instant("min(occurred_at)")} from scanned) as searched_to,
     coalesce((select json_agg(json_build_object('id', id, 'name', name, 'occurred_at', occurred_at,
       'offline_reason', offline_reason) order by position desc) from changed), '[]') as changes`,
);

/**
 * When a station went offline and came back, the newest first.
 * @param scanLimit events of each name that are looked at, whichever station's
 */
export async function listStationEvents(
  db: Queryable,
  systemId: string,
  stationId: string,
  { scanLimit, limit }: { readonly scanLimit: number; readonly limit: number },
): Promise<StationEvents> {
  return oneRow(await db.query<StationEvents>(list, [systemId, stationId, scanLimit, limit]));
}
