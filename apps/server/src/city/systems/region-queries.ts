import type { Region } from "@bikeshare/contract";
import type { QueryRunner, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

const own = statement("regions.own", "select id, name from regions where system_id = $1");

const upsert = statement(
  "regions.upsert",
  `insert into regions (system_id, id, name) values ($1, $2, $3)
   on conflict (system_id, id) do update set name = excluded.name`,
);

const remove = statement("regions.remove", "delete from regions where system_id = $1 and id = $2 returning id");

const used = statement(
  "regions.used",
  "select distinct region_id as id from stations where system_id = $1 and region_id is not null",
);

const isUsed = statement(
  "regions.isUsed",
  "select exists (select from stations where system_id = $1 and region_id = $2) as is_used",
);

// Whoever keeps something made of regions listens for stations already.
const notify = statement("regions.notify", "select pg_notify('stations', $1)");

/** What the operator says of regions. */
export function findOwnRegions(db: QueryRunner, systemId: string): Promise<Region[]> {
  return db.query<Region>(own, [systemId]);
}

export async function updateRegion(tx: Transaction, systemId: string, { id, name }: Region): Promise<void> {
  await tx.query(upsert, [systemId, id, name]);
  await tx.query(notify, [systemId]);
}

/** @returns false when the operator said nothing of it */
export async function deleteRegion(tx: Transaction, systemId: string, id: string): Promise<boolean> {
  const isDeleted = (await tx.query(remove, [systemId, id])).length === 1;
  await tx.query(notify, [systemId]);
  return isDeleted;
}

/** The ids that stations name. */
export async function findUsedRegions(db: QueryRunner, systemId: string): Promise<string[]> {
  return (await db.query<{ id: string }>(used, [systemId])).map(({ id }) => id);
}

export async function findWhetherRegionUsed(db: QueryRunner, systemId: string, id: string): Promise<boolean> {
  return oneRow(await db.query<{ is_used: boolean }>(isUsed, [systemId, id])).is_used;
}
