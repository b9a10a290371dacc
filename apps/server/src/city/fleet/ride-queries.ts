import { arrayOf, columnsOfTable, type RowOf } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow, rowsOfSystem } from "../../storage/db/rows.ts";
import { CHANGED, updatedAt } from "../../storage/db/sql-fragments.ts";
import { statement, type Statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

// The statements on rides: first those of imports of past rides, then those of commands. An import writes rides, compares
// them with the stored rides that have their ids ("held"), only tries them without writing any ("tried"), or is undone.

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

/**
 * The columns of a past ride's line in `copy`'s text format (`pastRideLines`), in order: first those that all rides of an
 * import have in common.
 */
const lineColumns = [
  "system_id",
  "status",
  "source",
  "import_id",
  "updated_at",
  ...compared.names,
  "end_reason",
  "is_countable",
].join(", ");

const copyRides = `copy rides (${lineColumns}) from stdin`;

/** Returns a stream that inserts lines of past rides as rides. When the id of one line is taken, all lines fail. */
export function copyIntoRides(tx: Transaction): Promise<NodeJS.WritableStream> {
  return tx.copyIn(copyRides);
}

// A temporary table is private to the connection, and a commit empties this one, so it needs no clean-up.
const createPastRides = `
  create temporary table if not exists past_rides on commit delete rows as
    select ${lineColumns} from rides with no data`;
const copyPastRides = `copy past_rides (${lineColumns}) from stdin`;

/** Makes the connection ready for `copyIntoPastRides` in this transaction. */
export async function createPastRidesTable(tx: Transaction): Promise<void> {
  // `warning` hides the notice that the table exists already. The setting is a separate statement, because Citus
  // repeats the whole text that contains a setting on other machines.
  await tx.run("set local client_min_messages = warning");
  await tx.run(createPastRides);
}

/** Returns a stream that inserts lines of past rides into the temporary table `past_rides`. */
export function copyIntoPastRides(tx: Transaction): Promise<NodeJS.WritableStream> {
  return tx.copyIn(copyPastRides);
}

// Of two rows with one id the first wins, because the second finds the id taken, within one statement, too. `ctid` gives the
// order of the lines, because rows are never deleted from the temporary table one by one.
const insertMissing = statement(
  "rides.insertMissing",
  `insert into rides (${lineColumns}) select ${lineColumns} from past_rides order by past_rides.ctid
   on conflict (system_id, id) do nothing
   returning (extract(epoch from started_at) * 1000)::float8 as start`,
);

const hasPastId = "id = any(array(select id from past_rides))";

const storedRides = `select ${compared.list()}, status, import_id from rides where system_id = $1 and ${hasPastId}`;

/**
 * Returns the statement that compares past rides with the stored rides of the same ids. It gives two kinds of rows: first
 * each past ride that differs, with the seconds by which the stored ride is later (null when start and end differ by
 * different amounts); then each import, other than $2, that wrote stored rides equal to past rides. $1 is the system.
 *
 * The stored rides are found by a list of ids, so that the planner can only use the index. It has no statistics of the
 * temporary table, and may otherwise compare each of its rows with all rides.
 * @param stored a statement that gives the stored rides with the ids of the past rides
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

/** Inserts the rows of `past_rides` whose id is free as rides. @returns their starts, milliseconds since 1970 */
export async function insertMissingRides(tx: Transaction): Promise<number[]> {
  const rows = await tx.query<{ start: number }>(insertMissing);
  return rows.map(({ start }) => start);
}

/** The stored rides that already have the ids of past rides. */
export interface HeldRides {
  /** Past rides whose id belongs to a different stored ride, in the order of their lines. */
  readonly differing: readonly NumberedRide[];
  /** Other imports that wrote stored rides equal to past rides. */
  readonly sameImports: readonly string[];
}

/** A past ride whose id belongs to a different stored ride. */
interface NumberedRide {
  /** The number of its line, from 1. */
  readonly number: number;
  readonly id: string;
  /** The import that made the stored ride; null: none did. */
  readonly importId: string | null;
  /** Seconds by which the stored ride is later (negative: earlier); null when start and end differ by different amounts. */
  readonly shiftSeconds: number | null;
}

/**
 * Compares the rows of `past_rides` with the stored rides that have their ids.
 * @param importId the import that writes the past rides, which is left out of `sameImports`; null: none writes them
 * @param text the statement; `findHeldOrTriedRides` passes one that compares with more than the stored rides
 */
export async function findHeldRides(
  tx: Transaction,
  systemId: string,
  importId: string | null,
  text: Statement = held,
): Promise<HeldRides> {
  return readHeldRides(await tx.query<HeldRow>(text, [systemId, importId]));
}

/** A row of `heldPastRides`: a past ride that differs, or (without a number and an id) an import that wrote equal rides. */
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

// The rides of earlier batches that an import would have written. A temporary table is private to the connection, and this
// one is dropped when the transaction ends.
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

/** Makes the transaction's connection ready for `insertTriedRides`. */
export async function createTriedRidesTable(tx: Transaction): Promise<void> {
  // The transaction stays open while the tried import waits for its files.
  await tx.run("set local idle_in_transaction_session_timeout = 0");
  await tx.run("set local client_min_messages = warning");
  await tx.run(createTriedRides);
}

/** Empties `past_rides` before the next batch. */
export async function truncatePastRides(tx: Transaction): Promise<void> {
  await tx.run("truncate past_rides");
}

/** Inserts the past rides whose ids are neither stored nor tried into `tried_rides`. @returns how many it inserted */
export async function insertTriedRides(tx: Transaction, systemId: string): Promise<number> {
  return oneRow(await tx.query<{ n: number }>(tryPastRides, [systemId])).n;
}

/** Compares the past rides with the stored and the previously tried rides that have their ids. */
export function findHeldOrTriedRides(tx: Transaction, systemId: string): Promise<HeldRides> {
  return findHeldRides(tx, systemId, null, heldOrTried);
}

/** Maximum number of overlapping rides that are listed. The count includes all. */
const MAX_LISTED_OVERLAPS = 10_000;

// `busy_until` is the latest end of the bike's earlier rides, `next_start` the start of its next ride. Reads also the
// rides that began up to a day before the import's first ride, because they may overlap with it. The command `check`
// finds overlaps with longer rides.
const overlaps = statement(
  "rides.importOverlaps",
  `with timed as (
     select id, import_id, started_at, ended_at, max(coalesce(ended_at, 'infinity')) over earlier_rides as busy_until,
       lead(started_at) over by_start as next_start
     from rides
     where system_id = $1 and started_at between $2::timestamptz - interval '1 day' and $3::timestamptz
       and status <> 'cancelled' and ended_at is distinct from started_at
     window by_start as (partition by bike_id order by started_at, id),
       earlier_rides as (by_start rows between unbounded preceding and 1 preceding))
   select id, count(*) over () as n from timed
   where import_id = $4 and (busy_until > started_at or next_start < ended_at)
   order by started_at, id limit ${MAX_LISTED_OVERLAPS}`,
);

/** The rides of an import that overlap with other rides of their bikes: how many, and the first of them. */
export interface ImportOverlaps {
  readonly n: number;
  readonly ids: readonly string[];
}

/** Finds an import's rides that overlap. @param times when the import's first and last rides start */
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
  /** The `updated_at` that the import wrote. A ride with a different value was changed since. */
  readonly writtenAt: Date;
  /** When the import's first and last rides started. */
  readonly first: Date;
  readonly last: Date;
}

/** The position of a walk through an import's rides: the ride after which the walk goes on. */
export interface RidePosition {
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

// Does not delete a ride that was changed after the batch was listed.
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

/** Returns the ids of up to `limit` rides that were changed since the import wrote them. */
export async function listChangedRides(db: Queryable, rides: ImportedRides, limit: number): Promise<string[]> {
  const { systemId, importId, writtenAt, first, last } = rides;
  const rows = await db.query<{ id: string }>(listChanged, [systemId, first, last, importId, writtenAt, limit]);
  return rows.map(({ id }) => id);
}

/**
 * Returns the next rides that have not changed since the import wrote them, in the order of their starts.
 * @param after undefined: begins with the first ride
 */
export async function listUntouchedRides(
  db: Queryable,
  { systemId, importId, writtenAt, first, last }: ImportedRides,
  after: RidePosition | undefined,
  limit: number,
): Promise<RidePosition[]> {
  // Every id follows the empty one, so the walk begins with the rides that start at `first`.
  const { startedAt, id } = after ?? { startedAt: first, id: "" };
  const values = [systemId, startedAt, id, last, importId, writtenAt, limit];
  const rows = await db.query<{ started_at: Date; id: string }>(listBatch, values);
  return rows.map((row) => ({ startedAt: row.started_at, id: row.id }));
}

/** Deletes the rides with `ids` that have not changed since the import wrote them. @returns their times */
export async function deleteUntouchedRides(
  tx: Transaction,
  { systemId, importId, writtenAt }: ImportedRides,
  ids: readonly string[],
): Promise<Pick<Tables["rides"], "started_at" | "ended_at">[]> {
  return tx.query<Pick<Tables["rides"], "started_at" | "ended_at">>(deleteBatch, [systemId, ids, importId, writtenAt]);
}

/** A ride that has been under way for long. */
export type LongRide = Pick<Tables["rides"], "id" | "bike_id" | "started_at">;

// Uses the index of the rides that are not completed.
const underWay = "from rides where system_id = $1 and status = 'started' and started_at < $2::timestamptz";
const countLong = statement("rides.countLong", `select count(*) as n ${underWay}`);
const listLong = statement(
  "rides.listLong",
  `select id, bike_id, started_at ${underWay} order by started_at, id limit $3`,
);

/** Returns how many rides that started before an instant are under way. */
export async function countLongRides(db: Queryable, systemId: string, startedBefore: Date): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countLong, [systemId, startedBefore])).n;
}

/** Returns rides that started before an instant and are under way, the oldest first. @param limit null: all */
export function listLongRides(
  db: Queryable,
  systemId: string,
  startedBefore: Date,
  limit: number | null,
): Promise<LongRide[]> {
  return db.query<LongRide>(listLong, [systemId, startedBefore, limit]);
}

const columns = columnsOfTable("rides").without("system_id", "updated_at", "source", "import_id", "change_position");

/** A ride as commands read and write it. */
export interface RideState extends RowOf<typeof columns> {
  /** When the ride was last written; undefined before the first time. */
  readonly updated_at?: Date | undefined;
}

// The lateral join locks the rides in the order of their ids, each by the primary key. With `id = any(…)` the planner
// reads every ride of the system while it has no statistics of a new table. `collate "C"` is the order of the column `id`.
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
   -- The id is taken, or the bike has a started ride already.
   on conflict do nothing
   returning ${returning}`,
  );
const insertStarted = insert("fleet.insertStartedRides", "id, json");
const insertPast = insert("fleet.insertPastRides", "id");

// The columns that are left out never change.
const update = statement(
  "fleet.updateRides",
  `update rides r set ${CHANGED}, ${columns.without("id", "bike_id", "started_at", "reservation_id").assignments("w")},
     ${updatedAt("r", "$2")}
   from ${columns.unnest(3, "w")}
   where r.system_id = $1 and r.id = w.id
   returning r.id, r.json`,
);

/**
 * Maximum number of rides that are read back from a new ride's start. One would do if no rides of a bike overlapped, but
 * imports may store a long ride and others within it. Where this many rides lie within a long ride, the long ride is not
 * found: a new ride in it is accepted, and the command `check` lists it. Too high: each ride read costs every start of a
 * ride about a microsecond.
 */
const MAX_EARLIER_RIDES = 20;

/**
 * Maximum number of rides that are read of those that began during a wanted ride. The first is a conflict, unless the
 * wanted ride starts "now": then its start may move to the end of the last of them (`startBeside`).
 */
export const MAX_LATER_RIDES = 20;

const wantedTimes = columnsOfTable("rides")
  .only("id", "bike_id", "started_at", "ended_at")
  .and({ is_rest: arrayOf<boolean>("boolean") });

/**
 * A ride that is to be written, as far as overlaps depend on it: its bike and its times. `is_rest`: only the time by
 * which a stored ride becomes longer. Rides that began before that time overlap with the stored ride already.
 */
export type RideTimes = RowOf<typeof wantedTimes>;

// Finds the last rides before each wanted ride and the first that began during it, by the index of the bike's rides.
// Earlier rides of zero duration overlap with nothing. The values are JSON, because the planner expects the same number of
// rows from every JSON text. With arrays it would plan the statement each time, at many times the cost of running it.
const overlapping = statement(
  "fleet.overlappingRides",
  `select wanted.id as wanted_id, other.*
   from ${wantedTimes.recordset(2, "wanted")}
   cross join lateral (
     select * from (
       select ${columns.list()} from rides
       where system_id = $1 and bike_id = wanted.bike_id and started_at < wanted.started_at and not wanted.is_rest
         and status <> 'cancelled' and id <> wanted.id and ended_at is distinct from started_at
       order by started_at desc, id desc limit ${MAX_EARLIER_RIDES}) as earlier
     where ended_at is null or ended_at > wanted.started_at
     union all
     (select ${columns.list()} from rides
      where system_id = $1 and bike_id = wanted.bike_id and started_at >= wanted.started_at
        and started_at < coalesce(wanted.ended_at, 'infinity') and (ended_at is null or ended_at > wanted.started_at)
        and status <> 'cancelled' and id <> wanted.id
      order by started_at, id limit ${MAX_LATER_RIDES})) as other`,
);

// Unknown bikes have no row to lock, so concurrent commands on their rides wait for a lock on the system's one row
// instead.
const lockUnknown = statement(
  "fleet.lockUnknownBikes",
  "select system_id from placed_systems where system_id = $1 for no key update",
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

/** Returns the ids of rides' bikes, by the rides' ids; nothing is locked. A ride's bike never changes. */
export async function findBikesOfRides(
  tx: Transaction,
  systemId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const rows = await tx.query<Pick<RideState, "id" | "bike_id">>(bikesOf, [systemId, [...new Set(ids)]]);
  return new Map(rows.map((row) => [row.id, row.bike_id]));
}

/** Inserts started rides whose id is free and whose bike is on no other ride. @returns the JSON of the inserted, by id */
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
 * Finds stored rides of the same bikes that overlap with wanted rides: of the last `MAX_EARLIER_RIDES` before each, and of
 * those that began during it, the first `MAX_LATER_RIDES`. Cancelled rides do not count.
 * @returns the overlapping rides by the id of the wanted ride
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
