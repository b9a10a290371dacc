import { recordActOf } from "../audit/audit-log.ts";
import type { Database } from "../db/database.ts";
import type { Ids } from "../ids.ts";
import { findPartner, insertPartner, listPartners, type PartnerRow } from "./queries.ts";

export type { PartnerRow } from "./queries.ts";

export interface PartnerContext {
  readonly db: Database;
  readonly clock: () => number;
  readonly ids: Ids;
  /** Who acts, for the audit log. */
  readonly actor: string;
}

/** Makes a partner of a system. */
export async function createPartner(context: PartnerContext, systemId: string, name: string): Promise<PartnerRow> {
  const { db, clock, ids } = context;
  const at = new Date(clock());
  const partner = { id: ids.next("partner"), name, created_at: at };
  await db.transaction(async (tx) => {
    await insertPartner(tx, systemId, partner);
    await recordActOf(context, tx, { systemId, at, action: "partner.created", subject: partner.id, detail: { name } });
  });
  return partner;
}

/** A system's partners, oldest first. */
export function partnersOf({ db }: Pick<PartnerContext, "db">, systemId: string): Promise<PartnerRow[]> {
  return listPartners(db, systemId);
}

/** A partner; undefined when there is none with this id. */
export function partnerWithId(
  { db }: Pick<PartnerContext, "db">,
  systemId: string,
  id: string,
): Promise<PartnerRow | undefined> {
  return findPartner(db, systemId, id);
}
