import { columnsOf, arrayOf } from "../storage/db/columns.ts";
import type { Queryable, Transaction } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";
import type { Tables } from "../storage/db/tables.generated.ts";
import { historySince, MATCHES_STATION } from "./queue/threshold-sql-fragments.ts";

/*
 * Statements that find the stations to compare with thresholds (thresholds.ts), and store how far they were compared
 * and the results. `webhook_threshold_stations` has what each station was like when it was compared last (`seen`;
 * empty: it must be compared again), and up to when its history was read (`seen_at`). `webhook_threshold_states` has
 * the crossings: the stations that are below a threshold. The shared fragments (`MATCHES_STATION`, `historySince`) and
 * those of this file expect the aliases `threshold`, `endpoint`, `partner` and `station`.
 */

const readNow = statement("thresholds.now", "select clock_timestamp()::timestamptz(3) as now");

/** Returns the time by the database's clock. */
export async function findDatabaseNow(db: Queryable): Promise<Date> {
  return oneRow(await db.query<{ now: Date }>(readNow, [])).now;
}

/** SQL: a system's thresholds with their endpoints and partners. */
const WITH_ENDPOINT = `webhook_thresholds threshold
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = threshold.endpoint_id
   join partners partner on partner.system_id = $1 and partner.id = endpoint.partner_id
   where threshold.system_id = $1`;
// SQL: a threshold is watched unless its partner is suspended or its endpoint is removed. (Release 0.1.0 keeps the
// thresholds of a removed endpoint.)
const IS_WATCHED = "(partner.suspended_at is null and endpoint.pause_reason is distinct from 'removed')";
// SQL: a threshold is to be watched and is not yet (`since` is null), or is no longer to be watched and still is.
const IS_PENDING = `((threshold.since is null) = ${IS_WATCHED})`;

const whether = statement(
  "thresholds.whether",
  `select coalesce(bool_or(${IS_WATCHED}), false) as "isWatched",
     coalesce(bool_or(${IS_PENDING}), false) as "hasPending",
     exists (select from webhook_threshold_stations where system_id = $1) as "hasCompared"
   from ${WITH_ENDPOINT}`,
);

interface WatchedSystem {
  /** The system has thresholds that are watched (IS_WATCHED). */
  readonly isWatched: boolean;
  /** A threshold is new, or its partner was suspended or resumed (IS_PENDING): see `updateWatched`. */
  readonly hasPending: boolean;
  /** Rows of `webhook_threshold_stations` say how far stations were compared. */
  readonly hasCompared: boolean;
}

/** Tells whether the stations of a system must be compared with thresholds. */
export async function findWhetherWatched(db: Queryable, systemId: string): Promise<WatchedSystem> {
  return oneRow(await db.query<WatchedSystem>(whether, [systemId]));
}

// The history of a new station is read from the time when its system's oldest threshold began to be watched.
// @param unlessWatched SQL for where the history begins if no threshold is watched yet
const insertStations = (which: string, unlessWatched = "now()") =>
  `insert into webhook_threshold_stations (system_id, station_id, seen_at, seen)
   select $1, id, coalesce((select min(since) from webhook_thresholds where system_id = $1), ${unlessWatched}), ''
   from stations where system_id = $1 and ${which} order by id
   on conflict (system_id, station_id) do nothing`;
const insertAll = statement("thresholds.insertAll", insertStations("true", "$2::timestamptz"));
const lockAll = statement(
  "thresholds.lockAll",
  "select station_id from webhook_threshold_stations where system_id = $1 order by station_id for update",
);
const markAll = statement(
  "thresholds.markAll",
  "update webhook_threshold_stations set seen = '' where system_id = $1 and seen <> ''",
);

/**
 * Marks all stations of a system to be compared again, and locks them: no other process compares one until the transaction
 * ends.
 * @param now where the history of a station without a row begins, if no threshold is watched yet
 */
export async function lockAllStations(tx: Transaction, systemId: string, now: Date): Promise<void> {
  // Inserts missing rows before it locks: an insert waits for another process that inserts the same row, while a lock does
  // not see a row that is not committed.
  await tx.query(insertAll, [systemId, now]);
  await tx.query(lockAll, [systemId]);
  await tx.query(markAll, [systemId]);
}

// `since`: from when a threshold is watched; null: it is not.
const watch = statement(
  "thresholds.watch",
  `update webhook_thresholds threshold set since = case when ${IS_WATCHED} then $2::timestamptz end
   from webhook_endpoints endpoint
   join partners partner on partner.system_id = $1 and partner.id = endpoint.partner_id
   where threshold.system_id = $1 and endpoint.system_id = $1 and endpoint.id = threshold.endpoint_id
     and ${IS_PENDING}`,
);
// The thresholds that `watch` has just begun to watch have `since` = $2, so their states are deleted too.
const forgetStates = statement(
  "thresholds.forgetStates",
  `delete from webhook_threshold_states where system_id = $1 and threshold_id not in (
     select id from webhook_thresholds where system_id = $1 and since is not null and since < $2)`,
);

/** Starts watching new thresholds, and stops watching those of suspended partners. Deletes the states of both. */
export async function updateWatched(tx: Transaction, systemId: string, since: Date): Promise<void> {
  await tx.query(watch, [systemId, since]);
  await tx.query(forgetStates, [systemId, since]);
}

const forget = statement("thresholds.forgetStations", "delete from webhook_threshold_stations where system_id = $1");

/** Deletes the records of how far a system's stations were compared, once no threshold is watched. */
export async function deleteComparedStations(db: Queryable, systemId: string): Promise<void> {
  await db.query(forget, [systemId]);
}

/** SQL: the properties of a station that decide whether it crosses a threshold, as one text; -1: its docks are not known. */
const SEEN = `concat_ws(' ', extract(epoch from station.state_since), station.num_bikes_available,
  coalesce(station.num_docks_available, -1), station.status, station.region_id)`;

/** Milliseconds after a feed's latest report for which a comparison waits for the feed's next report. */
const REPORT_TIMEOUT_MS = 5 * 60_000;
/**
 * SQL: the time up to which a station's state is known. A feed reports late, and its next report may say that the station
 * had enough in time: the state is known up to the latest report. If the feed no longer reports, the state counts as known
 * up to `until`. The counters of a `mirrored` station are those of its feed.
 */
const knownUntil = (until: string) => `coalesce((
       select least(status_at, ${until}) from gbfs_sources
       where system_id = $1 and source = station.source and station.counters = 'mirrored'
         and status_at > ${until} - interval '${REPORT_TIMEOUT_MS} ms'), ${until})`;

// The first part of the union finds stations that changed, are new or were removed since they were compared; the second
// finds stations whose `station.below_threshold` is due. `due_at <= $2` is implied by the condition behind it, and lets
// PostgreSQL use the index on due_at.
// In random order: if more stations change than can be compared, none waits for ever behind stations with lower ids.
const list = statement(
  "thresholds.listStations",
  `select id from (
   (select coalesce(station.id, compared.station_id) as id
    from (select * from stations where system_id = $1) station
    full join (select * from webhook_threshold_stations where system_id = $1) compared on compared.station_id = station.id
    where compared.seen is distinct from ${SEEN} and coalesce(station.id, compared.station_id) <> all($4::text[])
    order by random() limit $3)
   union
   (select station_id from (select distinct state.station_id from webhook_threshold_states state
    left join stations station on station.system_id = $1 and station.id = state.station_id
    where state.system_id = $1 and state.due_at <= $2 and state.due_at <= ${knownUntil("$2::timestamptz")}
      and state.station_id <> all($4::text[])) as due
    order by random() limit $3)) as station
   order by random() limit $3`,
);

/**
 * Lists stations that changed since they were compared, or that have been below a threshold for its minutes.
 * @param until the minutes are over if `due_at` is at or before this time
 * @param apart ids to leave out
 */
export async function listStationsToCompare(
  db: Queryable,
  systemId: string,
  until: Date,
  limit: number,
  apart: readonly string[],
): Promise<string[]> {
  return (await db.query<{ id: string }>(list, [systemId, until, limit, apart])).map(({ id }) => id);
}

const insert = statement("thresholds.insertStations", insertStations("id = any($2::text[])"));
const lock = statement(
  "thresholds.lockStations",
  `select station_id as id from webhook_threshold_stations where system_id = $1 and station_id = any($2::text[])
   order by station_id for update skip locked`,
);
// A separate statement after the lock, so that it sees what other processes committed before the lock was taken.
const read = statement(
  "thresholds.readStations",
  `select compared.station_id as id, ${SEEN} as seen,
     case when station.id is not null then greatest(compared.seen_at, station.state_since)::text end as seen_at,
     ${knownUntil("$3::timestamptz")} as known_until, ${historySince("compared.seen_at")} as numbers,
     station.json, greatest(station.state_since, station.known_since) as since
   from webhook_threshold_stations compared
   left join stations station on station.system_id = $1 and station.id = compared.station_id
   where compared.system_id = $1 and compared.station_id = any($2::text[])`,
);

/** A station that this transaction compares. */
export interface WatchedStation {
  readonly id: string;
  /** The properties that decide, as one text. The next comparison detects a change by it. */
  readonly seen: string;
  /** The time up to which its history is read, as PostgreSQL writes it; null: the station no longer exists. */
  readonly seen_at: string | null;
  readonly known_until: Date;
  /** Its counts since the last comparison, as `historySince` writes them; null: there are none. */
  readonly numbers: string | null;
  /** Its present state, and since when it is so; both null: the station no longer exists. */
  readonly json: string | null;
  readonly since: Date | null;
}

/**
 * Locks those of the stations that no other process compares now, and reads their state and history.
 * @param until called once the stations are locked; returns the time up to which their states are known
 */
export async function lockStations(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
  until: () => Promise<Date>,
): Promise<WatchedStation[]> {
  await tx.query(insert, [systemId, ids]);
  const locked = await tx.query<{ id: string }>(lock, [systemId, ids]);
  return tx.query<WatchedStation>(read, [systemId, locked.map(({ id }) => id), await until()]);
}

const stationThresholds = statement(
  "thresholds.ofStations",
  `select station.id as station_id, threshold.id, threshold.endpoint_id, endpoint.partner_id, threshold.count_of,
     threshold.fewer_than, threshold.for_minutes, threshold.since, state.below_since, state.due_at
   from webhook_thresholds threshold
   join webhook_endpoints endpoint on endpoint.system_id = $1 and endpoint.id = threshold.endpoint_id
   join stations station on station.system_id = $1 and station.id = any($2::text[]) and ${MATCHES_STATION}
   left join webhook_threshold_states state on state.system_id = $1 and state.threshold_id = threshold.id
     and state.station_id = station.id
   where threshold.system_id = $1 and threshold.since is not null
   order by threshold.id, station.id`,
);

/** A threshold that applies to a station, and whether the station is below it. */
export interface StationThreshold
  extends
    Pick<Tables["webhook_thresholds"], "id" | "endpoint_id" | "count_of" | "fewer_than" | "for_minutes">,
    Pick<Tables["webhook_endpoints"], "partner_id"> {
  readonly station_id: string;
  /** When the threshold began to be watched. */
  readonly since: Date;
  /** When the station fell below the threshold; null: it is not below. */
  readonly below_since: Date | null;
  /** When `station.below_threshold` is due; null: it was recorded, or the station is not below. */
  readonly due_at: Date | null;
}

/** Lists the thresholds that apply to stations. */
export function listStationThresholds(
  tx: Transaction,
  systemId: string,
  stationIds: readonly string[],
): Promise<StationThreshold[]> {
  return tx.query<StationThreshold>(stationThresholds, [systemId, stationIds]);
}

const forgetUnwatched = statement(
  "thresholds.forgetUnwatched",
  `delete from webhook_threshold_states state where state.system_id = $1 and state.station_id = any($2::text[])
     and not exists (select from webhook_thresholds threshold
       join stations station on station.system_id = $1 and station.id = state.station_id and ${MATCHES_STATION}
       where threshold.system_id = $1 and threshold.id = state.threshold_id and threshold.since is not null)`,
);

/** Deletes the states of stations at thresholds that no longer apply to them. */
export async function deleteUnwatchedStates(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(forgetUnwatched, [systemId, ids]);
}

const states = columnsOf({
  threshold_id: arrayOf<string>("text"),
  station_id: arrayOf<string>("text"),
  below_since: arrayOf<Date>("timestamptz"),
  due_at: arrayOf<Date>("timestamptz"),
});
const write = statement(
  "thresholds.writeStates",
  `insert into webhook_threshold_states (system_id, ${states.list()})
   select $1, ${states.list()} from ${states.unnest(2, "state")} where below_since is not null
   on conflict (system_id, threshold_id, station_id) do update
     set below_since = excluded.below_since, due_at = excluded.due_at`,
);
const remove = statement(
  "thresholds.removeStates",
  `delete from webhook_threshold_states state using ${states.unnest(2, "ended")}
   where ended.below_since is null and state.system_id = $1 and state.threshold_id = ended.threshold_id
     and state.station_id = ended.station_id`,
);

/** Whether a station is below a threshold; `below_since` null: it no longer is. `due_at`: as of `StationThreshold`. */
export interface StateRow {
  readonly threshold_id: string;
  readonly station_id: string;
  readonly below_since: Date | null;
  readonly due_at: Date | null;
}

/** Stores the crossings of stations, and deletes those that have ended. */
export async function updateStates(tx: Transaction, systemId: string, rows: readonly StateRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.query(write, [systemId, ...states.arrays(rows)]);
  await tx.query(remove, [systemId, ...states.arrays(rows)]);
}

const see = statement(
  "thresholds.see",
  `update webhook_threshold_stations compared set seen = now.seen, seen_at = now.seen_at::timestamptz(3)
   from unnest($2::text[], $3::text[], $4::text[]) as now (id, seen, seen_at)
   where compared.system_id = $1 and compared.station_id = now.id and now.seen_at is not null`,
);
const deleteGone = statement(
  "thresholds.deleteGone",
  "delete from webhook_threshold_stations where system_id = $1 and station_id = any($2::text[])",
);

/** Records how far stations were compared, and deletes the rows of stations that no longer exist. */
export async function updateSeen(
  tx: Transaction,
  systemId: string,
  stations: readonly WatchedStation[],
): Promise<void> {
  const column = <Name extends keyof WatchedStation>(name: Name) => stations.map((station) => station[name]);
  await tx.query(see, [systemId, column("id"), column("seen"), column("seen_at")]);
  const gone = stations.filter(({ seen_at: seenAt }) => seenAt === null).map(({ id }) => id);
  if (gone.length > 0) await tx.query(deleteGone, [systemId, gone]);
}
