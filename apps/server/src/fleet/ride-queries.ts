import { columnsOfTable, type RowOf } from "../db/columns.ts";
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import { rowsOfSystem } from "../db/system-rows.ts";

const columns = columnsOfTable("rides").without("system_id", "updated_at", "source", "import_id");

/** A ride as commands read and write it. */
export type RideState = RowOf<typeof columns>;

// One by one (lateral), in the order of their ids, each by the primary key. While the table is young, and nothing is
// known of it yet, `id = any(…)` is planned to read every ride of the system.
const lock = statement(
  "fleet.lockRides",
  `select ride.* from (select id from unnest($2::text[]) as given(id) order by id collate "C") as wanted
   cross join lateral (select ${columns.list()} from rides where system_id = $1 and id = wanted.id for update) as ride`,
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
  `update rides r set ${columns.without("id", "bike_id", "started_at", "reservation_id").assignments("w")},
     updated_at = $2::timestamptz
   from ${columns.unnest(3, "w")}
   where r.system_id = $1 and r.id = w.id
   returning r.id, r.json`,
);

/** A ride that was written. */
interface WrittenRide {
  readonly id: string;
  readonly json: string;
}

/** Locks rides in the order of their ids. */
export function lockRides(tx: Transaction, systemId: string, ids: readonly string[]): Promise<RideState[]> {
  return tx.query<RideState>(lock, [systemId, ids]);
}

/** The bikes of rides, by the rides' ids; nothing is locked. A ride's bike never changes. */
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
