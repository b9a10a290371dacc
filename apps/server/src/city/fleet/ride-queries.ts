import { columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { CHANGED, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement, type Statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** The columns by which two rides of one id are compared: every field that a trip file has. */
const compared = columnsOfTable("rides").only(
  "id",
  "bike_id",
  "start_station_id",
  "end_station_id",
  "started_at",
  "ended_at",
  "duration_seconds",
  "vehicle_type_id",
  "rider_category",
);

/** The columns of a line of a past ride, in order: first those that all rides of an import have in common. */
const lineColumns = [
  ...["system_id", "status", "source", "import_id", "updated_at"],
  ...compared.names,
  ...["end_reason", "is_countable"],
].join(", ");

const copyRides = `copy rides (${lineColumns}) from stdin`;

/** Returns a stream that takes the lines of past rides and makes rides of them. A line whose id is taken fails all of them. */
export function copyIntoRides(tx: Transaction): Promise<NodeJS.WritableStream> {
  return tx.copyIn(copyRides);
}

// Private to the connection and empty after each commit, so that it needs no clean-up.
const createPastRides = `
  create temporary table if not exists past_rides on commit delete rows as
    select ${lineColumns} from rides with no data`;
const copyPastRides = `copy past_rides (${lineColumns}) from stdin`;

/** Makes the connection ready for `copyIntoPastRides` in this transaction. */
export async function createPastRidesTable(tx: Transaction): Promise<void> {
  // A statement of its own: Citus repeats the text that contains a setting on other machines.
  await tx.run("set local client_min_messages = warning");
  await tx.run(createPastRides);
}

/** Returns a stream that takes the lines of past rides, and sets them aside to be compared with the stored rides. */
export function copyIntoPastRides(tx: Transaction): Promise<NodeJS.WritableStream> {
  return tx.copyIn(copyPastRides);
}

// Within one statement, too, the first of two rows with one id wins: the second finds it there. Lines lie in the temporary
// table as they came, because nothing is deleted from it but all of it.
const insertMissing = statement(
  "rides.insertMissing",
  `insert into rides (${lineColumns}) select ${lineColumns} from past_rides order by past_rides.ctid
   on conflict (system_id, id) do nothing
   returning (extract(epoch from started_at) * 1000)::float8 as start`,
);

const hasPastId = "id = any(array(select id from past_rides))";

const storedRides = `select ${compared.list()}, status, import_id from rides where system_id = $1 and ${hasPastId}`;

/**
 * Rides that differ, each, and by how much the stored one is later, where that is as much for its start as for its end;
 * then which imports made those that are the same. Values: the system, and the import whose own rides do not count.
 *
 * The stored rides are found by a list of ids, which leaves the index as the only way: the planner knows nothing of the
 * temporary table, and may compare each of its rows with all rides.
 * @param stored a statement that gives the stored rides which have the past rides' ids
 */
const heldPastRides = (stored: string) => `
  with numbered as (select row_number() over (order by past_rides.ctid) as number, past_rides.* from past_rides),
  stored as materialized (${stored}),
  pairs as materialized (
    select past.number, past.id, stored.import_id,
      (${compared.list("stored")}) is distinct from (${compared.list("past")}) or stored.status <> 'completed' as differs,
      case when stored.started_at - past.started_at = stored.ended_at - past.ended_at
        then extract(epoch from stored.started_at - past.started_at)::float8 end as shift_seconds
    from numbered as past join stored on stored.id = past.id)
  select number, id, import_id, shift_seconds from pairs where differs
  union all
  select null, null, import_id, null from pairs
  where not differs and import_id is not null and import_id is distinct from $2 group by import_id
  order by number`;

const held = statement("rides.heldPast", heldPastRides(storedRides));

/** Makes rides of those past rides that are set aside and whose id is free; gives their starts, milliseconds since 1970. */
export async function insertMissingRides(tx: Transaction): Promise<number[]> {
  const rows = await tx.query<{ start: number }>(insertMissing);
  return rows.map(({ start }) => start);
}

/** The stored rides that already have the ids of past rides. */
export interface HeldRides {
  /** Those whose id belongs to a ride that is not the same, in the order of their lines. */
  readonly differing: readonly NumberedRide[];
  /** The other imports that made rides which are the same. */
  readonly sameImports: readonly string[];
}

/** A past ride whose id belongs to a ride that is not the same. */
interface NumberedRide {
  /** The number of its line, from 1. */
  readonly number: number;
  readonly id: string;
  /** The import that made the stored ride. */
  readonly importId: string | null;
  /** Seconds by which the stored ride is later (negative: earlier); null when start and end differ by different amounts. */
  readonly shiftSeconds: number | null;
}

/**
 * Compares the past rides that are set aside with the rides that have their ids.
 * @param text the statement, where it is not the stored rides alone that they are compared with
 */
export async function findHeldRides(
  tx: Transaction,
  systemId: string,
  importId: string | null,
  text: Statement = held,
): Promise<HeldRides> {
  return readHeldRides(await tx.query<HeldRow>(text, [systemId, importId]));
}

interface HeldRow {
  readonly number: number | null;
  readonly id: string | null;
  readonly import_id: string | null;
  readonly shift_seconds: number | null;
}

function readHeldRides(rows: readonly HeldRow[]): HeldRides {
  const differing: NumberedRide[] = [];
  const sameImports: string[] = [];
  for (const { number, id, import_id: importId, shift_seconds: shiftSeconds } of rows) {
    if (number !== null && id !== null) differing.push({ number, id, importId, shiftSeconds });
    else if (importId !== null) sameImports.push(importId);
  }
  return { differing, sameImports };
}

// Private to the connection and gone with the transaction. An import that is tried may wait for its files.
const createTriedRides = `
  create temporary table tried_rides on commit drop as select ${compared.list()} from rides with no data;
  alter table tried_rides add primary key (id)`;

const tryPastRides = statement(
  "rides.tryPast",
  `with known as materialized (
     select id from rides where system_id = $1 and id = any(array(select id from past_rides))),
   created as (
     insert into tried_rides (${compared.list()})
     select ${compared.list()} from past_rides
     where id not in (select id from known)
     order by past_rides.ctid on conflict (id) do nothing
     returning id)
   select count(*) as n from created`,
);

const heldOrTried = statement(
  "rides.heldOrTried",
  heldPastRides(`${storedRides}
    union all select ${compared.list()}, 'completed', null from tried_rides where ${hasPastId}`),
);

/** Makes the transaction's connection ready to try rides. */
export async function createTrialRidesTable(tx: Transaction): Promise<void> {
  await tx.run("set local idle_in_transaction_session_timeout = 0");
  await tx.run("set local client_min_messages = warning");
  await tx.run(createTriedRides);
}

/** Forgets the past rides of the batch before. */
export async function truncatePastRides(tx: Transaction): Promise<void> {
  await tx.run("truncate past_rides");
}

/** Counts those past rides whose id is free among the stored rides and those tried before, and adds them to the latter. */
export async function insertTriedRides(tx: Transaction, systemId: string): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(tryPastRides, [systemId])).n;
}

/** Compares the past rides with those that have their ids, stored or tried before. */
export function findHeldOrTriedRides(tx: Transaction, systemId: string): Promise<HeldRides> {
  return findHeldRides(tx, systemId, null, heldOrTried);
}

/** Overlapping rides that are listed; all are counted. */
const MAX_LISTED_OVERLAPS = 10_000;

// Includes the rides that began up to a day before; `check` finds longer ones.
const overlaps = statement(
  "rides.importOverlaps",
  `with timed as (
     select id, import_id, started_at, ended_at, max(coalesce(ended_at, 'infinity')) over earlier as busy_until,
       lead(started_at) over later as next_start
     from rides
     where system_id = $1 and started_at between $2::timestamptz - interval '1 day' and $3::timestamptz
       and status <> 'cancelled' and ended_at is distinct from started_at
     window later as (partition by bike_id order by started_at, id),
       earlier as (later rows between unbounded preceding and 1 preceding))
   select id, count(*) over () as n from timed
   where import_id = $4 and (busy_until > started_at or next_start < ended_at)
   order by started_at, id limit ${MAX_LISTED_OVERLAPS}`,
);

/** The rides of an import that overlap with other rides of their bikes: how many, and the first of them. */
export interface ImportOverlaps {
  readonly n: number;
  readonly ids: readonly string[];
}

/** @param times when the import's first and last rides start */
export async function findImportOverlaps(
  tx: Transaction,
  systemId: string,
  importId: string,
  times: { readonly first: Date; readonly last: Date },
): Promise<ImportOverlaps> {
  const rows = await tx.query<{ id: string; n: number }>(overlaps, [systemId, times.first, times.last, importId]);
  return { n: rows[0]?.n ?? 0, ids: rows.map(({ id }) => id) };
}

/** An import's rides, as it wrote them. */
export interface ImportedRides {
  readonly systemId: string;
  readonly importId: string;
  /** `updated_at` of each; a ride with another was changed since. */
  readonly writtenAt: Date;
  /** When the first and the last of them started. */
  readonly first: Date;
  readonly last: Date;
}

/** The position of a walk through an import's rides. */
export interface RideMark {
  readonly startedAt: Date;
  readonly id: string;
}

// Uses `updated_at`, which an import's rides have in common and hardly any other ride has.
const countUntouched = statement(
  "importedRides.countUntouched",
  "select count(*) as n from rides where system_id = $1 and updated_at = $2::timestamptz and import_id = $3",
);

const listChanged = statement(
  "importedRides.listChanged",
  `select id from rides where system_id = $1 and started_at between $2::timestamptz and $3::timestamptz
     and import_id = $4 and updated_at <> $5::timestamptz
   order by started_at, id limit $6`,
);

const listBatch = statement(
  "importedRides.listBatch",
  `select started_at, id from rides
   where system_id = $1 and (started_at, id) > ($2::timestamptz, $3) and started_at <= $4::timestamptz
     and import_id = $5 and updated_at = $6::timestamptz
   order by started_at, id limit $7`,
);

// One that was changed since the batch was listed stays.
const deleteBatch = statement(
  "importedRides.deleteBatch",
  `delete from rides where system_id = $1 and id = any($2::text[]) and import_id = $3 and updated_at = $4::timestamptz
   returning started_at, ended_at`,
);

/** Returns how many of an import's rides are unchanged. */
export async function countUntouchedRides(
  db: Queryable,
  { systemId, importId, writtenAt }: ImportedRides,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countUntouched, [systemId, writtenAt, importId])).n;
}

/** Returns the ids of some of an import's rides that were changed since. */
export async function listChangedRides(db: Queryable, rides: ImportedRides, limit: number): Promise<string[]> {
  const { systemId, importId, writtenAt, first, last } = rides;
  const rows = await db.query<{ id: string }>(listChanged, [systemId, first, last, importId, writtenAt, limit]);
  return rows.map(({ id }) => id);
}

/** Returns the next of an import's rides that are as it wrote them, in the order of their starts. */
export async function listUntouchedRides(
  db: Queryable,
  { systemId, importId, writtenAt, first, last }: ImportedRides,
  after: RideMark | undefined,
  limit: number,
): Promise<RideMark[]> {
  const { startedAt, id } = after ?? { startedAt: first, id: "" };
  const values = [systemId, startedAt, id, last, importId, writtenAt, limit];
  const rows = await db.query<{ started_at: Date; id: string }>(listBatch, values);
  return rows.map((row) => ({ startedAt: row.started_at, id: row.id }));
}

/** Deletes rides of an import that are as it wrote them; gives their times. */
export async function deleteUntouchedRides(
  tx: Transaction,
  { systemId, importId, writtenAt }: ImportedRides,
  ids: readonly string[],
): Promise<Pick<Tables["rides"], "started_at" | "ended_at">[]> {
  return tx.query<Pick<Tables["rides"], "started_at" | "ended_at">>(deleteBatch, [systemId, ids, importId, writtenAt]);
}

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
