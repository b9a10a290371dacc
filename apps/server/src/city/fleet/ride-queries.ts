import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { CHANGED, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** A ride that is under way. */
export type LongRide = Pick<Tables["rides"], "id" | "bike_id" | "started_at">;

// Uses the index of the rides that are not completed.
const underWay = "from rides where system_id = $1 and status = 'started' and started_at < $2::timestamptz";
const count = statement("rides.countLong", `select count(*) as n ${underWay}`);
const list = statement("rides.listLong", `select id, bike_id, started_at ${underWay} order by started_at, id limit $3`);

/** Returns how many rides that started before an instant are under way. */
export async function countLongRides(db: Queryable, systemId: string, startedBefore: Date): Promise<number> {
  return oneRow(await db.query<{ n: number }>(count, [systemId, startedBefore])).n;
}

/** Rides that started before an instant and are under way, the oldest first. @param limit null: all */
export function listLongRides(
  db: Queryable,
  systemId: string,
  startedBefore: Date,
  limit: number | null,
): Promise<LongRide[]> {
  return db.query<LongRide>(list, [systemId, startedBefore, limit]);
}

const columns = columnsOfTable("rides").without("system_id", "updated_at", "source", "import_id", "change_position");

/** A ride as commands read and write it. */
export interface RideState extends RowOf<typeof columns> {
  /** When it was last written; undefined of one that is not written yet. */
  readonly updated_at?: Date | undefined;
}

// One by one (lateral), in the order of their ids, each by the primary key. While the table is young, and nothing is
// known of it yet, `id = any(…)` is planned to read every ride of the system.
const lock = statement(
  "fleet.lockRides",
  `select ride.* from (select id from unnest($2::text[]) as given(id) order by id collate "C") as wanted
   cross join lateral (
     select ${columns.list()}, updated_at from rides where system_id = $1 and id = wanted.id for update) as ride`,
);

const bikesOf = statement(
  "fleet.bikesOfRides",
  `select ride.* from unnest($2::text[]) as wanted(id)
   cross join lateral (select id, bike_id from rides where system_id = $1 and id = wanted.id limit 1) as ride`,
);

const insert = (name: string, returning: string) =>
  statement(
    name,
    `insert into rides (system_id, updated_at, source, ${columns.list()})
   select placed.system_id, $2::timestamptz, 'operator', ${columns.list()}
   from ${rowsOfSystem(columns.unnest(3, "w"))}
   order by id
   -- Of the id, or of the one started ride that a bike may have.
   on conflict do nothing
   returning ${returning}`,
  );
const insertStarted = insert("fleet.insertStartedRides", "id, json");
const insertPast = insert("fleet.insertPastRides", "id");

// The rest of a ride never changes.
const update = statement(
  "fleet.updateRides",
  `update rides r set ${CHANGED}, ${columns.without("id", "bike_id", "started_at", "reservation_id").assignments("w")},
     ${updatedAt("r", "$2")}
   from ${columns.unnest(3, "w")}
   where r.system_id = $1 and r.id = w.id
   returning r.id, r.json`,
);

/** Rides that are looked at of those that began during one: in a batch, the first of them may end earlier than is stored. */
const MAX_LATER_RIDES = 20;

const wantedTimes = columnsOfTable("rides").only("id", "bike_id", "started_at", "ended_at");

// The ride before and those that began meanwhile, each by the index of the bike's rides. A ride that lasted no time overlaps
// with none that began with it, and must not hide one that lasted. From JSON, of which the planner expects the same number of
// rows whatever it holds: with arrays it would plan the statement anew each time, at many times the cost of running it.
const overlapping = statement(
  "fleet.overlappingRides",
  `select wanted.id as wanted_id, other.*
   from ${wantedTimes.recordset(2, "wanted")}
   cross join lateral (
     (select ${columns.list()} from rides
      where system_id = $1 and bike_id = wanted.bike_id and started_at < wanted.started_at
        and status <> 'cancelled' and id <> wanted.id and ended_at is distinct from started_at
      order by started_at desc, id desc limit 1)
     union all
     (select ${columns.list()} from rides
      where system_id = $1 and bike_id = wanted.bike_id and started_at >= wanted.started_at
        and started_at < coalesce(wanted.ended_at, 'infinity') and status <> 'cancelled' and id <> wanted.id
      order by started_at, id limit ${MAX_LATER_RIDES})) as other
   where other.ended_at is null or other.ended_at > wanted.started_at`,
);

// Unknown bikes have no row to lock: concurrent commands on their rides queue here.
const lockUnknown = statement(
  "fleet.lockUnknownBikes",
  "select system_id from placed_systems where system_id = $1 for no key update",
);

/** When a ride of a bike is to be. */
export type RideTimes = RowOf<typeof wantedTimes>;

/** A ride that was written. */
interface WrittenRide {
  readonly id: string;
  readonly json: string;
}

/** Locks rides in the order of their ids. */
export function lockRides(tx: Transaction, systemId: string, ids: readonly string[]): Promise<RideState[]> {
  return tx.query<RideState>(lock, [systemId, ids]);
}

/** Returns the bikes of rides, by the rides' ids; nothing is locked. A ride's bike never changes. */
export async function findBikesOfRides(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<Pick<RideState, "id" | "bike_id">>(bikesOf, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row.bike_id]));
}

/** Inserts rides that have started. @returns the JSON, by id, of those whose id was free and whose bike was on no other ride */
export async function insertStartedRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly RideState[],
): Promise<ReadonlyMap<string, string>> {
  if (rides.length === 0) return new Map();
  const rows = await tx.query<WrittenRide>(insertStarted, [systemId, now, ...columns.arrays(rides)]);
  return new Map(rows.map(({ id, json }) => [id, json]));
}

/** Inserts rides that are over. @returns the ids of those whose id was free */
export async function insertPastRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly RideState[],
): Promise<ReadonlySet<string>> {
  if (rides.length === 0) return new Set();
  const rows = await tx.query<Pick<RideState, "id">>(insertPast, [systemId, now, ...columns.arrays(rides)]);
  return new Set(rows.map(({ id }) => id));
}

/** Updates rides, which are locked. @returns their JSON by id */
export async function updateRides(
  tx: Transaction,
  systemId: string,
  now: Date,
  rides: readonly RideState[],
): Promise<ReadonlyMap<string, string>> {
  if (rides.length === 0) return new Map();
  const rows = await tx.query<WrittenRide>(update, [systemId, now, ...columns.arrays(rides)]);
  return new Map(rows.map(({ id, json }) => [id, json]));
}

/**
 * Finds rides of the same bikes that overlap with rides as they are to be. Cancelled rides do not count.
 * @returns by the id of the ride that is to be
 */
export async function listOverlappingRides(
  tx: Transaction,
  systemId: string,
  wanted: readonly RideTimes[],
): Promise<ReadonlyMap<string, readonly RideState[]>> {
  if (wanted.length === 0) return new Map();
  const rows = await tx.query<RideState & { wanted_id: string }>(overlapping, [systemId, JSON.stringify(wanted)]);
  return Map.groupBy(rows, (row) => row.wanted_id);
}

/** Waits for other commands on past rides of bikes that do not exist, and makes later ones wait. */
export async function lockUnknownBikes(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lockUnknown, [systemId]);
}
