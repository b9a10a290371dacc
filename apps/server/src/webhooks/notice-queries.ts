import type { Queryable, Transaction } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";
import type { Tables } from "../storage/db/tables.generated.ts";
import { isSubscribed } from "./queue/sql-fragments.ts";

/*
 * Statements about notices of stations. A notice tells subscribed endpoints that a station has changed; unlike an
 * event, it is not listed. `webhook_station_notices` has the time of each station's last notice, and a hash of its
 * data.
 */

/** A station whose notice is to be published. */
export type ChangedStation = Pick<Tables["stations"], "json" | "updated_at">;

const subscription = statement("stationNotices.subscription", `select ${isSubscribed("station.updated")} as found`);

/*
 * `list` finds, without a lock, the stations that differ from their last notice, if that notice is old enough, and those
 * without a notice. `claim` writes the row of the last notice: one process alone succeeds, and publishes the change. `claim`
 * writes in the order of ids, so that two processes never deadlock.
 */
const list = statement(
  "stationNotices.list",
  `select s.id from (select id, hashtextextended(json, 0) as json_hash from stations where system_id = $1) s
   left join webhook_station_notices last on last.system_id = $1 and last.station_id = s.id
   where (last.station_id is null or (last.notified_at <= $2 and last.json_hash <> s.json_hash)) and s.id <> all($4::text[])
   order by s.id limit $3`,
);
const claim = statement(
  "stationNotices.claim",
  `with changed as materialized (
     select s.id, s.json, s.updated_at, s.json_hash
     from (select id, json, updated_at, hashtextextended(json, 0) as json_hash
           from stations where system_id = $1 and id = any($4::text[])) s
     left join webhook_station_notices last on last.system_id = $1 and last.station_id = s.id
     where last.station_id is null or (last.notified_at <= $3 and last.json_hash <> s.json_hash)),
   claimed as (
     insert into webhook_station_notices as last (system_id, station_id, notified_at, json_hash)
     select $1, id, $2, json_hash from changed order by id
     on conflict (system_id, station_id) do update set notified_at = excluded.notified_at, json_hash = excluded.json_hash
       where last.notified_at <= $3 and last.json_hash <> excluded.json_hash
     returning station_id)
   select changed.json, changed.updated_at from changed join claimed on claimed.station_id = changed.id order by changed.id`,
);

/** Tells whether an endpoint of the system subscribes to notices of stations. */
export async function findStationSubscription(db: Queryable, systemId: string): Promise<boolean> {
  return oneRow(await db.query<{ found: boolean }>(subscription, [systemId])).found;
}

/**
 * Returns the ids of the stations that changed since their last notice, if that notice was at `before` or earlier, and of
 * those without a notice.
 * @param apart ids to leave out
 */
export async function listChangedStations(
  db: Queryable,
  systemId: string,
  { before, limit, apart }: { readonly before: Date; readonly limit: number; readonly apart: readonly string[] },
): Promise<string[]> {
  const rows = await db.query<Pick<Tables["stations"], "id">>(list, [systemId, before, limit, apart]);
  return rows.map(({ id }) => id);
}

/**
 * Claims those of the given stations that changed since their last notice, if that notice was at `before` or earlier, and
 * those without a notice.
 */
export function claimChangedStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  before: Date,
  ids: readonly string[],
): Promise<ChangedStation[]> {
  return tx.query<ChangedStation>(claim, [systemId, now, before, ids]);
}
