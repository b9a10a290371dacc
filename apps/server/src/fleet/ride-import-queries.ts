import { columnsOfTable } from "../db/columns.ts";
import type { Transaction, Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { type Statement, statement } from "../db/statement.ts";

/** What makes two rides of one id the same: every field that a trip file has. */
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
const copied = [...compared.names, "end_reason"] as const;

/** What a line of a past ride has, in its order. */
export const PAST_RIDE_COLUMNS = ["row", ...copied] as const;
export type PastRideColumn = (typeof PAST_RIDE_COLUMNS)[number];

// Private to the connection and empty after each commit, so nobody has to clean it up. The time-out of requests does not
// suit thousands of rows.
const prepareConnection = `
  set local statement_timeout = 0;
  set local client_min_messages = warning;
  create temporary table if not exists past_rides on commit delete rows as
    select 0::bigint as row, ${copied.join(", ")} from rides with no data`;

const copyPastRides = `copy past_rides (${PAST_RIDE_COLUMNS.join(", ")}) from stdin`;

/** How many rides of a list of `started_at` started in each hour (hours since 1970), the first and the last of them. */
const perHour = (list: string) => `
  select floor(extract(epoch from started_at) / 3600)::bigint as hour, count(*) as n,
    min(started_at) as first, max(started_at) as last
  from ${list} group by 1`;

// Within one statement, too, the first of two rows with one id wins: the second finds it there.
const insertPastRides = statement(
  "rides.insertPast",
  `with created as (
     insert into rides (system_id, status, source, updated_at, is_countable, import_id, ${copied.join(", ")})
     select $1, 'completed', $2, $3::timestamptz, duration_seconds >= $4::integer, $5, ${copied.join(", ")}
     from past_rides order by row
     on conflict (system_id, id) do nothing
     returning started_at)
   ${perHour("created")}`,
);

// The planner knows nothing of the temporary table and may read all rides to join it; each id has an index entry.
const lookUpById = "set local enable_hashjoin = off; set local enable_mergejoin = off";

/**
 * Rides that differ, each, and by how much the stored one is later, where that is as much for its start as for its end;
 * then which imports made those that are the same. Values: the system, and the import whose own rides do not count.
 * @param stored the relation that has the stored rides
 */
const heldPastRides = (stored: string) => `
  with pairs as materialized (
    select past.row, past.id, stored.import_id,
      (${compared.list("stored")}) is distinct from (${compared.list("past")}) or stored.status <> 'completed' as differs,
      case when stored.started_at - past.started_at = stored.ended_at - past.ended_at
        then extract(epoch from stored.started_at - past.started_at)::float8 end as shift_seconds
    from past_rides as past join ${stored} as stored on stored.system_id = $1 and stored.id = past.id)
  select row, id, import_id, shift_seconds from pairs where differs
  union all
  select null, null, import_id, null from pairs
  where not differs and import_id is not null and import_id is distinct from $2 group by import_id
  order by row`;

const held = statement("rides.heldPast", heldPastRides("rides"));

/** Makes the connection ready for `copyIntoPastRides` in this transaction. */
export async function createPastRidesTable(tx: Transaction): Promise<void> {
  await tx.run(prepareConnection);
}

/** A stream that takes the lines of past rides, in the text format of `copy`. */
export function copyIntoPastRides(tx: Transaction): Promise<NodeJS.WritableStream> {
  return tx.copyIn(copyPastRides);
}

/** The rides that started in one hour. */
export interface HourOfRides {
  /** Hours since 1970. */
  readonly hour: number;
  readonly n: number;
  readonly first: Date;
  readonly last: Date;
}

/** Makes rides of those past rides whose id is free; gives how many started in each hour. */
export function insertRides(
  tx: Transaction,
  systemId: string,
  values: {
    readonly source: string;
    readonly updatedAt: string;
    readonly countableFrom: number;
    readonly importId: string | null;
  },
): Promise<HourOfRides[]> {
  const { source, updatedAt, countableFrom, importId } = values;
  return tx.query<HourOfRides>(insertPastRides, [systemId, source, updatedAt, countableFrom, importId]);
}

/** What the past rides found in the place of their ids. */
export interface HeldRides {
  /** Those whose id belongs to a ride that is not the same, in the order of their rows. */
  readonly differing: readonly DifferingRide[];
  /** The other imports that made rides which are the same. */
  readonly sameImports: readonly string[];
}

/** A past ride whose id belongs to a ride that is not the same. */
export interface DifferingRide {
  readonly row: number;
  readonly id: string;
  /** The import that made the stored ride. */
  readonly importId: string | null;
  /** By how many seconds the stored ride is later (negative: earlier); null where start and end differ in their own ways. */
  readonly shiftSeconds: number | null;
}

/**
 * Compares the past rides with the rides that have their ids.
 * @param text the statement, where it is not the stored rides alone that they are compared with
 */
export async function findHeldRides(
  tx: Transaction,
  systemId: string,
  importId: string | null,
  text: Statement = held,
): Promise<HeldRides> {
  await tx.run(lookUpById);
  return readHeldRides(await tx.query<HeldRow>(text, [systemId, importId]));
}

interface HeldRow {
  readonly row: number | null;
  readonly id: string | null;
  readonly import_id: string | null;
  readonly shift_seconds: number | null;
}

function readHeldRides(rows: readonly HeldRow[]): HeldRides {
  const differing: DifferingRide[] = [];
  const sameImports: string[] = [];
  for (const { row, id, import_id: importId, shift_seconds: shiftSeconds } of rows) {
    if (row !== null && id !== null) differing.push({ row, id, importId, shiftSeconds });
    else if (importId !== null) sameImports.push(importId);
  }
  return { differing, sameImports };
}

// Private to the connection and gone with the transaction. An import that is tried may wait for its files.
const prepareTrial = `
  set local statement_timeout = 0;
  set local idle_in_transaction_session_timeout = 0;
  set local client_min_messages = warning;
  create temporary table tried_rides on commit drop as select ${compared.list()} from rides with no data;
  alter table tried_rides add primary key (id)`;

const tryPastRides = statement(
  "rides.tryPast",
  `with created as (
     insert into tried_rides (${compared.list()})
     select ${compared.list()} from past_rides
     where not exists (select from rides where rides.system_id = $1 and rides.id = past_rides.id)
     order by row on conflict (id) do nothing
     returning started_at)
   ${perHour("created")}`,
);

const heldOrTried = statement(
  "rides.heldOrTried",
  heldPastRides(`(
    select system_id, ${compared.list()}, status, import_id from rides
    union all select $1, ${compared.list()}, 'completed', null from tried_rides)`),
);

/** Makes the transaction's connection ready to try rides. */
export async function createTrialRidesTable(tx: Transaction): Promise<void> {
  await tx.run(prepareTrial);
}

/** Forgets the past rides of the batch before. */
export async function truncatePastRides(tx: Transaction): Promise<void> {
  await tx.run("truncate past_rides");
}

/** Sets aside those past rides whose id is free; gives how many start in each hour. */
export function insertTriedRides(tx: Transaction, systemId: string): Promise<HourOfRides[]> {
  return tx.query<HourOfRides>(tryPastRides, [systemId]);
}

/** Compares the past rides with those that have their ids, stored or tried before. */
export function findHeldOrTriedRides(tx: Transaction, systemId: string): Promise<HeldRides> {
  return findHeldRides(tx, systemId, null, heldOrTried);
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

/** Where the walk through an import's rides stands. */
export interface RideMark {
  readonly startedAt: Date;
  readonly id: string;
}

// By `updated_at`, which an import's rides have in common and hardly any other ride has.
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
  `with deleted as (
     delete from rides where system_id = $1 and id = any($2::text[]) and import_id = $3 and updated_at = $4::timestamptz
     returning started_at)
   select floor(extract(epoch from started_at) / 3600)::bigint as hour, count(*) as n from deleted group by 1`,
);

/** How many of an import's rides are as it wrote them. */
export async function countUntouchedRides(
  db: Queryable,
  { systemId, importId, writtenAt }: ImportedRides,
): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countUntouched, [systemId, writtenAt, importId])).n;
}

/** The ids of some of an import's rides that were changed since. */
export async function listChangedRides(db: Queryable, rides: ImportedRides, limit: number): Promise<string[]> {
  const { systemId, importId, writtenAt, first, last } = rides;
  const rows = await db.query<{ id: string }>(listChanged, [systemId, first, last, importId, writtenAt, limit]);
  return rows.map(({ id }) => id);
}

/** The next of an import's rides that are as it wrote them, in the order of their starts. */
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

/** Deletes rides of an import that are as it wrote them; gives how many had started in each hour. */
export function deleteUntouchedRides(
  tx: Transaction,
  { systemId, importId, writtenAt }: ImportedRides,
  ids: readonly string[],
): Promise<Pick<HourOfRides, "hour" | "n">[]> {
  return tx.query<Pick<HourOfRides, "hour" | "n">>(deleteBatch, [systemId, ids, importId, writtenAt]);
}
