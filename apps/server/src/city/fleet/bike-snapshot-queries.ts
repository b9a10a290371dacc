import type { Command } from "../../command-context.ts";
import { arrayOf, columnsOfTable } from "../../storage/db/columns.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { CHANGED, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import { isSubscribed } from "../../webhooks/queue/sql-fragments.ts";
import { recordRemovedBikes } from "../changes/service.ts";
import { type BikeRow, type FeedBike, feedBikeFields } from "./snapshot-decision.rules.ts";
import { rowsJson, selectMilliseconds } from "./snapshot-rows.ts";

/*
 * The statements that apply a snapshot of a source's bikes (`bike-snapshot.ts`). `CHANGED` gives a row a new position in the
 * order of changes, which clients follow.
 */

/** A bike's row to write. */
export interface BikeWrite extends FeedBike {
  readonly id: string;
}

/** A bike's id and the columns that a feed decides, without `source_facts`. */
const columns = columnsOfTable("bikes")
  .only("id", ...feedBikeFields)
  .without("source_facts");
// `source_facts` is text here, because `decideBike` compares it as text.
const written = columns.and({ source_facts: arrayOf<string>("text") });

const times = ["last_reported"];
/** The columns of `BikeRow`, with times in milliseconds since 1970. `reported_at` is the time of the latest report. */
const found = `${columns.without("last_reported").list()}, source_facts::text as source_facts, source, ride_id, reservation_id, ${selectMilliseconds(times)},
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

// Locks in the order of the primary key, so that two transactions cannot deadlock.
const lockBikes = statement(
  "bikeSnapshot.lock",
  `select ${found} from bikes where system_id = $1 and id = any($2::text[]) order by id for update`,
);

// `notice` asks once, not for each bike, whether any webhook endpoint subscribes to `bike.state_changed`.
const insertBikes = statement(
  "bikeSnapshot.insert",
  `with notice as materialized (select ${isSubscribed("bike.state_changed")} as is_wanted),
   inserted as (
     insert into bikes (system_id, source, updated_at, source_facts, ${columns.list()})
     select $1, $2, $3::timestamptz, source_facts::json, ${columns.list()} from ${written.recordset(4, "w")}
     order by id
     on conflict (system_id, id) do nothing
     returning id, json)
   select id, case when is_wanted then json end as json from inserted cross join notice`,
);

// Only bikes that commands have written have values in the `reported_` columns (`reported_state` is not null). For those
// bikes the feed is one more report, made at the snapshot's time. `reserved` is no reported state: a bike has it
// through a reservation, and is available without it. Callers pass no bike on a ride, and a reserved bike only
// to end its reservation. The sub-select in `returning` sees the bike as it was before the statement.
const updateBikes = statement(
  "bikeSnapshot.update",
  `with changed as (
   update bikes b set ${CHANGED}, ${updatedAt("b", "$2")}, ${columns.without("id").assignments("w")},
     source_facts = w.source_facts::json, reservation_id = null,
     reported_state = case when b.reported_state is not null then
       case when w.vehicle_state = 'reserved' then 'available' else w.vehicle_state end end,
     reported_station_id = case when b.reported_state is not null then w.station_id end,
     reported_lat = case when b.reported_state is not null then w.lat end,
     reported_lon = case when b.reported_state is not null then w.lon end,
     reported_state_at = case when b.reported_state is not null then $3::timestamptz end,
     reported_position_at = case when b.reported_state is not null then $3::timestamptz end,
     reported_range_at = case when b.reported_state is not null then $3::timestamptz end
   from ${written.recordset(4, "w")}
   where b.system_id = $1 and b.id = w.id
   returning b.id, case when ${isSubscribed("bike.state_changed")} and b.vehicle_state <> (
     select before.vehicle_state from bikes before where before.system_id = $1 and before.id = b.id) then b.json end as json)
   select json from changed where json is not null order by id`,
);

const deleteBikes = statement("bikeSnapshot.delete", "delete from bikes where system_id = $1 and id = any($2::text[])");

/** Returns the bikes of a source, without locking them. */
export function listBikesOfSource({ tx, systemId }: Command, source: string): Promise<BikeRow[]> {
  return tx.query<BikeRow>(ofSource, [systemId, source]);
}

/** Returns how many bikes of a source have one of `ids`. */
export async function countBikesOfSource(
  { tx, systemId }: Command,
  source: string,
  ids: readonly string[],
): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(countOfSource, [systemId, source, ids])).n;
}

/** Returns the bikes of other sources that have one of `ids`, without locking them. */
export async function listBikesOfOtherSources(
  { tx, systemId }: Command,
  source: string,
  ids: readonly string[],
): Promise<BikeRow[]> {
  return ids.length === 0 ? [] : tx.query<BikeRow>(ofOtherSources, [systemId, source, ids]);
}

/** Locks bikes until the transaction ends. @returns their current rows */
export async function lockFeedBikes({ tx, systemId }: Command, ids: readonly string[]): Promise<BikeRow[]> {
  return ids.length === 0 ? [] : tx.query<BikeRow>(lockBikes, [systemId, ids]);
}

/**
 * A bike of a feed that was inserted, with its JSON; null when no webhook endpoint subscribes to `bike.state_changed`.
 * Bikes of the operator have the same type in `command-queries.ts`, which only `command.ts` may import.
 */
export interface InsertedBike {
  readonly id: string;
  readonly json: string | null;
}

/** Inserts the bikes whose ids are free. @returns the inserted ones */
export function insertFeedBikes(
  { tx, systemId, now }: Command,
  source: string,
  rows: readonly BikeWrite[],
): Promise<InsertedBike[]> {
  return tx.query<InsertedBike>(insertBikes, [systemId, source, now, rowsJson(rows, times)]);
}

/**
 * Writes the feed's values into locked bikes. No reservation holds the bikes afterwards.
 * @param snapshotAt when the feed was made
 * @returns the JSON of bikes whose state changed; empty when no webhook endpoint subscribes to `bike.state_changed`
 */
export async function updateFeedBikes(
  { tx, systemId, now }: Command,
  snapshotAt: Date,
  rows: readonly BikeWrite[],
): Promise<string[]> {
  const values = [systemId, now, snapshotAt, rowsJson(rows, times)];
  return (await tx.query<{ json: string }>(updateBikes, values)).map((row) => row.json);
}

/** Deletes locked bikes. */
export async function deleteFeedBikes({ tx, systemId }: Command, ids: readonly string[]): Promise<void> {
  await recordRemovedBikes(tx, systemId, ids);
  await tx.query(deleteBikes, [systemId, ids]);
}
