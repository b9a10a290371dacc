import type { KeyAllowance } from "@bikeshare/contract/console";
import { arrayOf, columnsOfTable, type RowOf } from "../storage/db/columns.ts";
import type { Queryable, Transaction } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";

const kept = columnsOfTable("partners")
  .without("system_id")
  .and({ key_allowance: arrayOf<KeyAllowance>("jsonb") });
const columns = kept.list();

export type PartnerRow = RowOf<typeof kept>;

const insert = statement(
  "partners.insert",
  `insert into partners (system_id, id, name, created_at, max_reservations) values ($1, $2, $3, $4, $5)
   returning ${columns}`,
);
const insertQuota = statement(
  "partners.insertQuota",
  "insert into reservation_quotas (system_id, partner_id) values ($1, $2)",
);
const all = statement("partners.all", `select ${columns} from partners where system_id = $1 order by created_at, id`);
const byId = statement("partners.byId", `select ${columns} from partners where system_id = $1 and id = $2`);
const byName = statement(
  "partners.byName",
  `select ${columns} from partners where system_id = $1 and lower(name) = lower($2) and removed_at is null limit 1`,
);

/** Makes a partner, and the row on which its reservations are counted. */
export async function insertPartner(
  tx: Queryable,
  systemId: string,
  partner: Pick<PartnerRow, "id" | "name" | "created_at" | "max_reservations">,
): Promise<PartnerRow> {
  const { id, name, created_at, max_reservations } = partner;
  const made = oneRow(await tx.query<PartnerRow>(insert, [systemId, id, name, created_at, max_reservations]));
  await tx.query(insertQuota, [systemId, id]);
  return made;
}

/** A system's partners, removed ones too, oldest first. */
export function listPartners(db: Queryable, systemId: string): Promise<PartnerRow[]> {
  return db.query<PartnerRow>(all, [systemId]);
}

/** A partner, also one that was removed. */
export async function findPartner(db: Queryable, systemId: string, id: string): Promise<PartnerRow | undefined> {
  return (await db.query<PartnerRow>(byId, [systemId, id]))[0];
}

/** The partner that has a name now, whatever its capitals. */
export async function findPartnerByName(
  db: Queryable,
  systemId: string,
  name: string,
): Promise<PartnerRow | undefined> {
  return (await db.query<PartnerRow>(byName, [systemId, name]))[0];
}

// Lets through whoever only refers to the system.
const lockSystem = statement(
  "partners.lockSystem",
  "select system_id from systems where system_id = $1 for no key update",
);

/** Holds off everybody else who gives a partner of the system a name, until the transaction ends. */
export async function lockNames(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lockSystem, [systemId]);
}

const lock = statement(
  "partners.lock",
  `select ${columns} from partners where system_id = $1 and id = $2 for no key update`,
);
/** A partner, held against every other change until the transaction ends. */
export async function lockPartner(tx: Transaction, systemId: string, id: string): Promise<PartnerRow | undefined> {
  return (await tx.query<PartnerRow>(lock, [systemId, id]))[0];
}

const update = statement(
  "partners.update",
  `update partners set name = $3, max_reservations = $4, suspended_at = $5, removed_at = $6, key_allowance = $7::jsonb
   where system_id = $1 and id = $2 returning ${columns}`,
);

/** Writes what may change of a partner. */
export async function updatePartner(tx: Transaction, systemId: string, partner: PartnerRow): Promise<PartnerRow> {
  const { id, name, max_reservations, suspended_at, removed_at, key_allowance } = partner;
  const allowance = key_allowance && JSON.stringify(key_allowance);
  const values = [systemId, id, name, max_reservations, suspended_at, removed_at, allowance];
  return oneRow(await tx.query<PartnerRow>(update, values));
}
