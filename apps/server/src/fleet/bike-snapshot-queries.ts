import { columnsOfTable } from "../db/columns.ts";
import type { Transaction } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import { isSubscribed } from "../webhooks/queue/sql-fragments.ts";
import { type BikeRow, type FeedBike, feedBikeFields } from "./bike-snapshot-decision.rules.ts";

/** A row to be written. */
export interface BikeWrite extends FeedBike {
  readonly id: string;
}

/** What a feed decides of a bike. */
const columns = columnsOfTable("bikes").only("id", ...feedBikeFields);

// Times as numbers, because tens of thousands of rows are compared, and all but a few are then forgotten.
const found = `${columns.without("last_reported").list()}, source, ride_id, reservation_id,
  (extract(epoch from last_reported) * 1000)::float8 as last_reported,
  (extract(epoch from greatest(reported_state_at, reported_position_at)) * 1000)::float8 as reported_at`;

const ofSource = statement("bikeSnapshot.held", `select ${found} from bikes where system_id = $1 and source = $2`);

const countOfSource = statement(
  "bikes.countOfSource",
  "select count(*)::integer as n from bikes where system_id = $1 and source = $2 and id = any($3)",
);

const ofOtherSources = statement(
  "bikeSnapshot.ownedByOthers",
  `select ${found} from bikes where system_id = $1 and source <> $2 and id = any($3::text[])`,
);

// In the order of the primary key, so that two transactions never wait for each other in a ring.
const lockBikes = statement(
  "bikeSnapshot.lock",
  `select ${found} from bikes where system_id = $1 and id = any($2::text[]) order by id for update`,
);

const insertBikes = statement(
  "bikeSnapshot.insert",
  `insert into bikes (system_id, source, updated_at, ${columns.list()})
   select $1, $2, $3::timestamptz, ${columns.list()} from ${columns.recordset(4, "w")}
   order by id
   on conflict (system_id, id) do nothing
   returning id, case when ${isSubscribed("bike.state_changed")} then json end as json`,
);

// What was reported by the side is kept only of bikes that commands have touched (reported_state is not null); for
// those the feed's word, as of the snapshot, is one more report. Bikes that are held or ridden are not written, except
// to end the hold. In `returning` the bike as the statement found it has the state before.
const updateBikes = statement(
  "bikeSnapshot.update",
  `with changed as (
   update bikes b set updated_at = $2::timestamptz, ${columns.without("id").assignments("w")}, reservation_id = null,
     reported_state = case when b.reported_state is not null then
       case w.vehicle_state when 'reserved' then 'available' else w.vehicle_state end end,
     reported_station_id = case when b.reported_state is not null then w.station_id end,
     reported_lat = case when b.reported_state is not null then w.lat end,
     reported_lon = case when b.reported_state is not null then w.lon end,
     reported_state_at = case when b.reported_state is not null then $3::timestamptz end,
     reported_position_at = case when b.reported_state is not null then $3::timestamptz end,
     reported_range_at = case when b.reported_state is not null then $3::timestamptz end
   from ${columns.recordset(4, "w")}
   where b.system_id = $1 and b.id = w.id
   returning b.id, case when ${isSubscribed("bike.state_changed")} and b.vehicle_state <> (
     select before.vehicle_state from bikes before where before.system_id = $1 and before.id = b.id) then b.json end as json)
   select json from changed where json is not null order by id`,
);

const deleteBikes = statement("bikeSnapshot.delete", "delete from bikes where system_id = $1 and id = any($2::text[])");

/** The bikes of a source. Not locked. */
export function listBikesOfSource(tx: Transaction, systemId: string, source: string): Promise<BikeRow[]> {
  return tx.query<BikeRow>(ofSource, [systemId, source]);
}

/** How many bikes of a source have one of `ids`. */
export async function countBikesOfSource(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(countOfSource, [systemId, source, ids])).n;
}

/** Those bikes of other sources that have one of `ids`. Not locked. */
export function listBikesOfOtherSources(
  tx: Transaction,
  systemId: string,
  source: string,
  ids: readonly string[],
): Promise<BikeRow[]> {
  return tx.query<BikeRow>(ofOtherSources, [systemId, source, ids]);
}

/** Bikes as they are now, locked until the transaction ends. */
export function lockFeedBikes(tx: Transaction, systemId: string, ids: readonly string[]): Promise<BikeRow[]> {
  return tx.query<BikeRow>(lockBikes, [systemId, ids]);
}

/** A bike that was inserted, with its JSON where somebody wants to be told of it. */
export interface InsertedBike {
  readonly id: string;
  readonly json: string | null;
}

/** Inserts those that are not there; gives what it inserted. */
export function insertFeedBikes(
  tx: Transaction,
  systemId: string,
  source: string,
  now: Date,
  rows: readonly BikeWrite[],
): Promise<InsertedBike[]> {
  return tx.query<InsertedBike>(insertBikes, [systemId, source, now, stored(rows)]);
}

/**
 * Rewrites bikes, which the transaction has locked; no reservation holds them afterwards.
 * @param snapshotAt when the feed was made
 * @returns the JSON texts of those whose state changed, where somebody wants to be told
 */
export async function updateFeedBikes(
  tx: Transaction,
  systemId: string,
  now: Date,
  snapshotAt: Date,
  rows: readonly BikeWrite[],
): Promise<string[]> {
  const values = [systemId, now, snapshotAt, stored(rows)];
  return (await tx.query<{ json: string }>(updateBikes, values)).map((row) => row.json);
}

/** Deletes bikes, which the transaction has locked. */
export async function deleteFeedBikes(tx: Transaction, systemId: string, ids: readonly string[]): Promise<void> {
  await tx.query(deleteBikes, [systemId, ids]);
}

function stored(rows: readonly BikeWrite[]): string {
  return JSON.stringify(
    rows.map((row) => ({
      ...row,
      last_reported: row.last_reported === null ? null : new Date(row.last_reported).toISOString(),
    })),
  );
}
