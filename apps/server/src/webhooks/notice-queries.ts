import type { Queryable, Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";
import { isSubscribed } from "./queue/sql-fragments.ts";

/** A station that is to be told of. */
export type ChangedStation = Pick<Tables["stations"], "json" | "updated_at">;

const wanted = statement("stationNotices.wanted", `select ${isSubscribed("station.updated")} as wanted`);

/*
 * The stations that are not as they were last told, and were not told of lately. They are found without a lock; the row
 * that says what was told is the guard: who finds it written meanwhile, by another process, is told nothing of it. In
 * the order of the ids, so that two processes never wait for each other in a ring.
 */
const tell = statement(
  "stationNotices.tell",
  `with changed as materialized (
     select s.id, s.json, s.updated_at, s.json_hash
     from (select id, json, updated_at, hashtextextended(json, 0) as json_hash from stations where system_id = $1) s
     left join webhook_station_notices told on told.system_id = $1 and told.station_id = s.id
     where told.station_id is null or (told.notified_at <= $3 and told.json_hash <> s.json_hash)
     order by s.id limit $4),
   noted as (
     insert into webhook_station_notices as told (system_id, station_id, notified_at, json_hash)
     select $1, id, $2, json_hash from changed order by id
     on conflict (system_id, station_id) do update set notified_at = excluded.notified_at, json_hash = excluded.json_hash
       where told.notified_at <= $3 and told.json_hash <> excluded.json_hash
     returning station_id)
   select changed.json, changed.updated_at from changed join noted on noted.station_id = changed.id order by changed.id`,
);

/** Whether an endpoint of the system wants to be told of stations. */
export async function findStationSubscription(db: Queryable, systemId: string): Promise<boolean> {
  return oneRow(await db.query<{ wanted: boolean }>(wanted, [systemId])).wanted;
}

/**
 * Notes that stations are being told of: those that changed since they last were, and last were at `before` or earlier;
 * `limit` at most. @returns them
 */
export function claimChangedStations(
  tx: Transaction,
  systemId: string,
  now: Date,
  before: Date,
  limit: number,
): Promise<ChangedStation[]> {
  return tx.query<ChangedStation>(tell, [systemId, now, before, limit]);
}
