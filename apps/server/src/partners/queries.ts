import type { KeyAllowance } from "@bikeshare/contract/console";
import { arrayOf, columnsOfTable, type RowOf } from "../storage/db/columns.ts";
import type { Queryable, Transaction } from "../storage/db/database.ts";
import { oneRow } from "../storage/db/rows.ts";
import { statement } from "../storage/db/statement.ts";

const partnerFields = columnsOfTable("partners")
  .without("system_id")
  .and({ key_allowance: arrayOf<KeyAllowance>("jsonb") });
const columns = partnerFields.list();

/** A stored partner, perhaps suspended or removed. */
export type PartnerRow = RowOf<typeof partnerFields>;

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

/** Inserts a partner, and its row of `reservation_quotas`, which is locked while its reservations are counted. */
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

/** Returns a system's partners, removed ones too, oldest first. */
export function listPartners(db: Queryable, systemId: string): Promise<PartnerRow[]> {
  return db.query<PartnerRow>(all, [systemId]);
}

/** Returns a partner, also one that was removed. */
export async function findPartner(db: Queryable, systemId: string, id: string): Promise<PartnerRow | undefined> {
  return (await db.query<PartnerRow>(byId, [systemId, id]))[0];
}

const sandboxOf = statement(
  "partners.sandbox",
  "select system_id from sandboxes where live_system_id = $1 and partner_id = $2",
);

/** Returns the system that is a partner's sandbox; undefined: it has none. */
export async function findSandboxSystem(db: Queryable, systemId: string, id: string): Promise<string | undefined> {
  return (await db.query<{ system_id: string }>(sandboxOf, [systemId, id]))[0]?.system_id;
}

/** Returns the partner that has a name, ignoring case. Removed partners do not count. */
export async function findPartnerByName(
  db: Queryable,
  systemId: string,
  name: string,
): Promise<PartnerRow | undefined> {
  return (await db.query<PartnerRow>(byName, [systemId, name]))[0];
}

// The lock does not block transactions that only refer to the system.
const lockSystem = statement(
  "partners.lockSystem",
  "select system_id from systems where system_id = $1 for no key update",
);

/** Keeps other transactions from naming a partner of the system, until the transaction ends. */
export async function lockNames(tx: Transaction, systemId: string): Promise<void> {
  await tx.query(lockSystem, [systemId]);
}

const lock = statement(
  "partners.lock",
  `select ${columns} from partners where system_id = $1 and id = $2 for no key update`,
);
/** Locks a partner until the transaction ends. @returns the partner */
export async function lockPartner(tx: Transaction, systemId: string, id: string): Promise<PartnerRow | undefined> {
  return (await tx.query<PartnerRow>(lock, [systemId, id]))[0];
}

const update = statement(
  "partners.update",
  `update partners set name = $3, max_reservations = $4, suspended_at = $5, removed_at = $6, key_allowance = $7::jsonb
   where system_id = $1 and id = $2 returning ${columns}`,
);

/** Writes all columns of a partner that can change. */
export async function updatePartner(tx: Transaction, systemId: string, partner: PartnerRow): Promise<PartnerRow> {
  const { id, name, max_reservations, suspended_at, removed_at, key_allowance } = partner;
  const allowance = key_allowance && JSON.stringify(key_allowance);
  const values = [systemId, id, name, max_reservations, suspended_at, removed_at, allowance];
  return oneRow(await tx.query<PartnerRow>(update, values));
}

/** A partner with its keys, endpoints and usage. */
export interface PartnerOverview extends PartnerRow {
  readonly active_keys: number;
  /** The number of active keys that its own people made. */
  readonly own_keys: number;
  /** The sum of the rate limits of these keys. */
  readonly own_rate_limit: number;
  readonly active_reservations: number;
  /** The worst status of its endpoints; null: it has none. */
  readonly endpoint_status: string | null;
  readonly endpoints: number;
  readonly requests_today: number;
}

/** SQL: whether one of the `keys` is an active key of the `partner` at $3. */
const isActiveKey = `keys.system_id = $1 and keys.partner_id = partner.id
        and (revoked_at is null or revoked_at > $3) and (expires_at is null or expires_at > $3)`;

// There are some dozens of partners: each count is a separate look-up in an index. Requests are read once, by their day.
const overviews = statement(
  "partnerOverviews.list",
  `select partner.id, partner.name, partner.created_at, partner.max_reservations, partner.suspended_at, partner.removed_at,
     partner.key_allowance,
     (select count(*) from keys where ${isActiveKey}) as active_keys,
     (select count(*) from keys where ${isActiveKey} and made_by_partner) as own_keys,
     (select coalesce(sum(rate_limit), 0)::bigint from keys where ${isActiveKey} and made_by_partner) as own_rate_limit,
     (select count(*) from reservations where reservations.system_id = $1 and reservations.partner_id = partner.id
        and status = 'active' and reservations.expires_at > $3) as active_reservations,
     (select status from webhook_endpoints where webhook_endpoints.system_id = $1
        and webhook_endpoints.partner_id = partner.id and pause_reason is distinct from 'removed'
      order by status = 'paused' desc, status = 'probing' desc limit 1) as endpoint_status,
     (select count(*) from webhook_endpoints where webhook_endpoints.system_id = $1
        and webhook_endpoints.partner_id = partner.id and pause_reason is distinct from 'removed') as endpoints,
     coalesce(today.requests, 0)::bigint as requests_today
   from partners partner
   left join (select partner_id, sum(requests) as requests from key_usage_days
              where system_id = $1 and day = $4::date group by partner_id) as today on today.partner_id = partner.id
   where partner.system_id = $1 and ($2::text is null or partner.id = $2)
   order by partner.created_at, partner.id`,
);

/** Returns every partner of a system, including removed ones, the oldest first; or only the partner `partnerId`. */
export function listPartnerOverviews(
  db: Queryable,
  systemId: string,
  now: Date,
  partnerId?: string,
): Promise<PartnerOverview[]> {
  return db.query<PartnerOverview>(overviews, [systemId, partnerId ?? null, now, now.toISOString().slice(0, 10)]);
}
