import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { type Statement, statement } from "../../storage/db/statement.ts";
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
