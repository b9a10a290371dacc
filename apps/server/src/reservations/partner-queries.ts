import type { Queryable, Transaction } from "../db/database.ts";
import { onlyRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";
import type { Tables } from "../db/tables.generated.ts";

// The lock queues a partner's own requests for bikes, and nobody else's. It lets through whoever only refers to the
// partner, as an issued key does.
const lockPartner = statement(
  "reservations.lockPartner",
  `select max_reservations from partners
   where system_id = $1 and id = $2 and suspended_at is null and removed_at is null for no key update`,
);

const limitOf = statement(
  "reservations.limitOf",
  "select max_reservations from partners where system_id = $1 and id = $2",
);

// Of what has lapsed it does not matter whether that has been written.
const countActive = statement(
  "reservations.countActive",
  `select count(*)::int as n from reservations
   where system_id = $1 and partner_id = $2 and status = 'active' and expires_at > $3::timestamptz`,
);

const active = statement(
  "reservations.active",
  `select id, bike_id from reservations where system_id = $1 and partner_id = $2 and status = 'active' order by id`,
);

const largestHolders = statement(
  "reservations.largestHolders",
  `select holding.partner_id, holding.active, partners.max_reservations
   from (select partner_id, count(*)::int as active from reservations
         where system_id = $1 and status = 'active' and expires_at > $2::timestamptz
         group by partner_id order by active desc, partner_id limit $3) holding
   join partners on partners.system_id = $1 and partners.id = holding.partner_id
   order by holding.active desc, holding.partner_id`,
);

type PartnerLimit = Pick<Tables["partners"], "max_reservations">;

/**
 * Locks a partner, before anything else is locked: until the transaction ends, nobody else makes a reservation of its.
 * @returns how many active reservations it may have, null for the default; undefined when there is no such partner, or it
 *   is suspended
 */
export async function lockPartnerLimit(
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<PartnerLimit | undefined> {
  return (await tx.query<PartnerLimit>(lockPartner, [systemId, partnerId]))[0];
}

/** How many active reservations a partner may have, null for the default; undefined when there is no such partner. */
export async function findPartnerLimit(
  db: Queryable,
  systemId: string,
  partnerId: string,
): Promise<PartnerLimit | undefined> {
  return (await db.query<PartnerLimit>(limitOf, [systemId, partnerId]))[0];
}

/** A partner's reservations that are written as active, lapsed ones too. */
export function listActive(
  tx: Transaction,
  systemId: string,
  partnerId: string,
): Promise<Pick<Tables["reservations"], "id" | "bike_id">[]> {
  return tx.query<Pick<Tables["reservations"], "id" | "bike_id">>(active, [systemId, partnerId]);
}

/** How many reservations of a partner are active at an instant. */
export async function countActiveReservations(
  db: Queryable,
  systemId: string,
  partnerId: string,
  at: Date,
): Promise<number> {
  return onlyRow(await db.query<{ n: number }>(countActive, [systemId, partnerId, at])).n;
}

/** A partner, how many bikes it holds, and how many it may hold; null for the default. */
interface HolderRow extends PartnerLimit {
  readonly partner_id: string;
  readonly active: number;
}

/** The partners with most active reservations at an instant, the most first. */
export function listLargestHolders(
  db: Queryable,
  systemId: string,
  { at, limit }: { readonly at: Date; readonly limit: number },
): Promise<HolderRow[]> {
  return db.query<HolderRow>(largestHolders, [systemId, at, limit]);
}
