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

/** What a partner may have that differs from the default. */
export interface PartnerOptions {
  /** Active reservations that it may have at once; the default when left out. */
  readonly maxReservations?: number | undefined;
}

/** Makes a partner of a system. */
export async function createPartner(
  context: PartnerContext,
  systemId: string,
  name: string,
  { maxReservations }: PartnerOptions = {},
): Promise<PartnerRow> {
  const { db, clock, ids } = context;
  const at = new Date(clock());
  const partner = { id: ids.next("partner"), name, created_at: at, max_reservations: maxReservations ?? null };
  await db.transaction(async (tx) => {
    await insertPartner(tx, systemId, partner);
    await recordActOf(context, tx, {
      systemId,
      at,
      action: "partner.created",
      subject: partner.id,
      detail: { name, max_reservations: partner.max_reservations },
    });
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
