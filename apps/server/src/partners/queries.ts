import type { Queryable } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

export type PartnerRow = Pick<Tables["partners"], "id" | "name" | "created_at" | "max_reservations">;

const insert = statement(
  "partners.insert",
  `insert into partners (system_id, id, name, created_at, max_reservations) values ($1, $2, $3, $4, $5)`,
);
const all = statement(
  "partners.all",
  `select id, name, created_at, max_reservations from partners where system_id = $1 order by created_at, id`,
);
const byId = statement(
  "partners.byId",
  `select id, name, created_at, max_reservations from partners where system_id = $1 and id = $2`,
);

export async function insertPartner(db: Queryable, systemId: string, partner: PartnerRow): Promise<void> {
  await db.query(insert, [systemId, partner.id, partner.name, partner.created_at, partner.max_reservations]);
}

export function listPartners(db: Queryable, systemId: string): Promise<PartnerRow[]> {
  return db.query<PartnerRow>(all, [systemId]);
}

export async function findPartner(db: Queryable, systemId: string, id: string): Promise<PartnerRow | undefined> {
  return (await db.query<PartnerRow>(byId, [systemId, id]))[0];
}
