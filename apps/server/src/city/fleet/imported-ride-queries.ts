import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

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
  `delete from rides where system_id = $1 and id = any($2::text[]) and import_id = $3 and updated_at = $4::timestamptz
   returning started_at`,
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

/** Deletes rides of an import that are as it wrote them; gives when they had started. */
export async function deleteUntouchedRides(
  tx: Transaction,
  { systemId, importId, writtenAt }: ImportedRides,
  ids: readonly string[],
): Promise<Date[]> {
  const rows = await tx.query<{ started_at: Date }>(deleteBatch, [systemId, ids, importId, writtenAt]);
  return rows.map((row) => row.started_at);
}
