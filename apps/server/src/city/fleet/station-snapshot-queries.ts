import type { Command } from "../../command-context.ts";
import { arrayOf, columnsOfTable } from "../../storage/db/columns.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { CHANGED, timeOfChange, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { recordInserted, recordUpdated, stateOf, stateSince } from "../history/changes-sql-fragments.ts";
import type { Position } from "./bike.rules.ts";
import { chunksOf, rowsJson, selectMilliseconds } from "./snapshot-rows.ts";
import type { JoinedStation, KnownStationStatus, StationInformation } from "./station.rules.ts";

/*
 * The statements that write a snapshot of a source's stations (`station-snapshot.ts`). Counters of new stations are
 * mirrored: they are what the feed says. A part (information or status) of a station that is not listed waits in
 * `gbfs_pending_station_parts`. `CHANGED` gives a row a new position in the order of changes, which clients follow.
 * `recordInserted` and `recordUpdated` write the history of stations: `known_since` is its beginning, and `state_since` is
 * the time of the latest change of state (`-infinity`: none since the beginning).
 */

/** A station's row, which a snapshot is compared with. Instants in milliseconds since 1970. */
export interface StationRow extends JoinedStation, Pick<Tables["stations"], "id" | "source" | "counters"> {
  /** `last_updated` of the newest snapshot that names the part; null: it is the newest snapshot of the part's feed. */
  readonly information_as_of: number | null;
  readonly status_as_of: number | null;
}

/** Identifies a waiting part. */
export type WaitingKey = Pick<Tables["gbfs_pending_station_parts"], "station_id" | "part">;

/** A part that waits for its other part. */
export type WaitingRow = Waiting<"information", StationInformation> | Waiting<"status", KnownStationStatus>;

/** `WaitingRow` for one part. */
interface Waiting<Part extends WaitingKey["part"], Content> extends WaitingKey {
  readonly part: Part;
  /** `last_updated` of the newest snapshot that names the part; null: it is the newest snapshot of the part's feed. */
  readonly as_of: number | null;
  readonly content: Content;
}

/** A station's row to write. */
export interface StationWrite extends Omit<StationRow, "source" | "counters"> {
  /** Whether values change that readers see, not only columns that record snapshots. */
  readonly visible: boolean;
}

/** JSON columns that are read and written as text here, because `decideStation` compares them as text. */
const jsonColumns = ["vehicle_types_available", "vehicle_docks_available", "source_facts"] as const;

/** The columns of a station that a feed decides, and those that record its snapshots. */
const columns = columnsOfTable("stations").without(
  "system_id",
  "source",
  "updated_at",
  "counters",
  "num_bikes_reserved",
  ...jsonColumns,
  "import_id",
  "docks_base",
  "change_position",
  "state_since",
  "known_since",
);

const times = ["last_reported", "information_as_of", "status_as_of"] as const;
const found = `${columns.without(...times).list()}, ${selectMilliseconds(times)},
  ${jsonColumns.map((name) => `${name}::text as ${name}`).join(", ")}, source, counters`;
const written = columns.and({
  vehicle_types_available: arrayOf<string>("text"),
  vehicle_docks_available: arrayOf<string>("text"),
  source_facts: arrayOf<string>("text"),
  visible: arrayOf<boolean>("boolean"),
});

const idsOfSource = statement(
  "stationSnapshot.idsOfSource",
  "select id from stations where system_id = $1 and source = $2",
);

const withIds = statement(
  "stationSnapshot.withIds",
  `select ${found} from stations where system_id = $1 and id = any($2::text[])`,
);

// Locks in the order of the primary key, so that two transactions cannot deadlock.
const lock = statement(
  "stationSnapshot.lock",
  `select ${found} from stations where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insert = statement(
  "stationSnapshot.insert",
  `with inserted as (
     insert into stations as s (system_id, source, updated_at, state_since, known_since, counters,
       ${jsonColumns.join(", ")}, ${columns.list()})
     select $1, $2, $3::timestamptz, $5::timestamptz, $5::timestamptz, 'mirrored',
       ${jsonColumns.map((name) => `${name}::json`).join(", ")}, ${columns.list()}
     from ${written.recordset(4, "w")}
     order by id
     on conflict (system_id, id) do nothing
     returning id, ${stateOf("s")}),
   ${recordInserted("inserted")}
   select id from inserted`,
);

/** SQL that writes the values of a snapshot into stations. @param changes further assignments, each followed by a comma */
const rewrite = (changes: string) =>
  `update stations set source = $2, ${changes}
     ${jsonColumns.map((name) => `${name} = w.${name}::json`).join(", ")}, ${columns.without("id").assignments("w")}
   from ${written.recordset(3, "w")}
   where stations.system_id = $1 and stations.id = w.id`;

/** The columns of a station's state that feeds decide. */
const stateColumns = columns.only(
  "num_bikes_available",
  "num_bikes_disabled",
  "num_docks_available",
  "num_docks_disabled",
  "is_installed",
  "is_renting",
  "is_returning",
  "status",
  "offline_reason",
);
const stateDiffers = `(${stateColumns.list("stations")}, stations.vehicle_types_available::text)
  is distinct from (${stateColumns.list("w")}, w.vehicle_types_available)`;

// A feed may be older than the operator's last command. Its status change still gets a time after that command's, because
// the events of one station are ordered by their times.
const changesStatus = "stations.status is distinct from w.status";
const changedAt = `case when ${changesStatus} then ${timeOfChange("stations.state_since", "$5", "true")} else $5::timestamptz end`;

// Rows with visible changes have their own statement, because Citus refuses a statement that takes a change position for
// only some of its rows. The history of a station that has not changed yet, such as a placeholder, begins at the feed's time
// if that is earlier.
const update = statement(
  "stationSnapshot.update",
  `with updated as (
     ${rewrite(`${updatedAt("stations", "$4")}, ${CHANGED},
     ${stateSince("stations", changedAt, stateDiffers)},
     known_since = case when stations.state_since = '-infinity' then least(stations.known_since, $5::timestamptz)
       else stations.known_since end,`)}
     returning stations.id, ${stateOf("stations")}),
   ${recordUpdated("updated")}
   select id, state_since from updated`,
);
const updateBookkeeping = statement("stationSnapshot.updateBookkeeping", rewrite(""));

const pendingIds = statement(
  "stationSnapshot.pendingIds",
  "select distinct station_id as id from gbfs_pending_station_parts where system_id = $1 and source = $2",
);

const pendingParts = statement(
  "stationSnapshot.pending",
  `select station_id, part, ${selectMilliseconds(["as_of"])}, content
   from gbfs_pending_station_parts where system_id = $1 and source = $2 and station_id = any($3::text[])`,
);

const upsertPending = statement(
  "stationSnapshot.upsertPending",
  `insert into gbfs_pending_station_parts (system_id, source, station_id, part, as_of, content)
   select $1, $2, station_id, part, as_of, content
   from json_to_recordset($3::json) as written(station_id text, part text, as_of timestamptz, content jsonb)
   order by station_id, part
   on conflict (system_id, source, station_id, part)
   do update set as_of = excluded.as_of, content = excluded.content`,
);

const deletePending = statement(
  "stationSnapshot.deletePending",
  `delete from gbfs_pending_station_parts
   where system_id = $1 and source = $2 and (station_id, part) in (
     select station_id, part from json_to_recordset($3::json) as joined(station_id text, part text))`,
);

const positions = statement(
  "stationSnapshot.positions",
  "select id, lat, lon from stations where system_id = $1 and id = any($2::text[])",
);

const extent = statement(
  "stationSnapshot.extent",
  `with waiting as materialized (
     select distinct station_id as id from gbfs_pending_station_parts where system_id = $1 and source = $2)
   select (select count(*) from stations where system_id = $1 and source = $2)::int
       + (select count(*) from waiting)::int as known,
     (select count(*) from unnest($3::text[]) as given(id)
      where not exists (select from stations where system_id = $1 and stations.id = given.id)
        and given.id not in (select id from waiting))::int as added`,
);

/** Returns how many stations a source has, including those that wait for a part, and how many of `ids` are new. */
export async function countStations(
  { tx, systemId }: Command,
  source: string,
  ids: readonly string[],
): Promise<{ readonly known: number; readonly added: number }> {
  return oneRow(await tx.query<{ known: number; added: number }>(extent, [systemId, source, ids]));
}

/** Returns the ids of the stations of a source. */
export async function listStationIds({ tx, systemId }: Command, source: string): Promise<string[]> {
  return (await tx.query<{ id: string }>(idsOfSource, [systemId, source])).map(({ id }) => id);
}

/** Returns the stations that exist, of any source, without locking them. */
export function listStations({ tx, systemId }: Command, ids: readonly string[]): Promise<StationRow[]> {
  return tx.query<StationRow>(withIds, [systemId, ids]);
}

/** Locks stations until the transaction ends. @returns their current rows */
export async function lockFeedStations({ tx, systemId }: Command, ids: readonly string[]): Promise<StationRow[]> {
  return ids.length === 0 ? [] : tx.query<StationRow>(lock, [systemId, ids]);
}

/** The source of stations, and the time from which their state holds. */
export interface StationOrigin {
  readonly source: string;
  readonly stateAt: Date;
}

type ChangedStation = Pick<Tables["stations"], "id" | "state_since">;

/** Inserts the stations whose ids are free. @returns the inserted ids */
export async function insertFeedStations(
  { tx, systemId, now }: Command,
  { source, stateAt }: StationOrigin,
  rows: readonly StationWrite[],
): Promise<string[]> {
  const inserted: string[] = [];
  for (const chunk of chunksOf(rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)))) {
    const values = [systemId, source, now, rowsJson(chunk, times), stateAt];
    const added = await tx.query<Pick<StationRow, "id">>(insert, values);
    inserted.push(...added.map(({ id }) => id));
  }
  return inserted;
}

/** Updates locked stations. @returns the time from which the state of each visibly changed station holds, by id */
export async function updateFeedStations(
  { tx, systemId, now }: Command,
  { source, stateAt }: StationOrigin,
  rows: readonly StationWrite[],
): Promise<ReadonlyMap<string, Date>> {
  const since = new Map<string, Date>();
  for (const chunk of chunksOf(rows.filter(({ visible }) => visible))) {
    const values = [systemId, source, rowsJson(chunk, times), now, stateAt];
    for (const row of await tx.query<ChangedStation>(update, values)) since.set(row.id, row.state_since);
  }
  for (const chunk of chunksOf(rows.filter(({ visible }) => !visible)))
    await tx.query(updateBookkeeping, [systemId, source, rowsJson(chunk, times)]);
  return since;
}

/** Returns the ids of a source's stations that have a waiting part. */
export async function listPendingIds({ tx, systemId }: Command, source: string): Promise<string[]> {
  return (await tx.query<{ id: string }>(pendingIds, [systemId, source])).map(({ id }) => id);
}

/** Returns the waiting parts that a source gave for the stations with `ids`. */
export async function listPendingParts(
  { tx, systemId }: Command,
  source: string,
  ids: readonly string[],
): Promise<WaitingRow[]> {
  return ids.length === 0 ? [] : tx.query<WaitingRow>(pendingParts, [systemId, source, ids]);
}

/** Inserts waiting parts. A part that waits already is replaced. */
export async function insertPendingParts(
  { tx, systemId }: Command,
  source: string,
  rows: readonly WaitingRow[],
): Promise<void> {
  const ordered = rows.toSorted((a, b) => (a.station_id < b.station_id ? -1 : 1));
  for (const chunk of chunksOf(ordered)) await tx.query(upsertPending, [systemId, source, rowsJson(chunk, ["as_of"])]);
}

/** Deletes parts that no longer wait for their other part. */
export async function deletePendingParts(
  { tx, systemId }: Command,
  source: string,
  keys: readonly WaitingKey[],
): Promise<void> {
  for (const chunk of chunksOf(keys)) await tx.query(deletePending, [systemId, source, JSON.stringify(chunk)]);
}

/** Returns the positions of stations, by id. */
export async function findPositions(
  { tx, systemId }: Command,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Position>> {
  const rows = await tx.query<Position & { id: string }>(positions, [systemId, ids]);
  return new Map(rows.map(({ id, lat, lon }) => [id, { lat, lon }]));
}
