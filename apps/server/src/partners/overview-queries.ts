import type { Queryable } from "../storage/db/database.ts";
import { statement } from "../storage/db/statement.ts";
import type { PartnerRow } from "./queries.ts";

/** A partner with what it has and does. */
export interface PartnerOverview extends PartnerRow {
  readonly active_keys: number;
  /** Active keys that its own people made, and their rates together. */
  readonly own_keys: number;
  readonly own_rate_limit: number;
  readonly active_reservations: number;
  readonly endpoint_status: string | null;
  readonly requests_today: number;
}

const works = `keys.system_id = $1 and keys.partner_id = partner.id
        and (revoked_at is null or revoked_at > $3) and (expires_at is null or expires_at > $3)`;

// Partners are some dozens: each count is a look-up of its own in an index. Requests are read once, by their day.
const overviews = statement(
  "partnerOverviews.list",
  `select partner.id, partner.name, partner.created_at, partner.max_reservations, partner.suspended_at, partner.removed_at,
     partner.key_allowance,
     (select count(*) from keys where ${works}) as active_keys,
     (select count(*) from keys where ${works} and made_by_partner) as own_keys,
     (select coalesce(sum(rate_limit), 0)::bigint from keys where ${works} and made_by_partner) as own_rate_limit,
     (select count(*) from reservations where reservations.system_id = $1 and reservations.partner_id = partner.id
        and status = 'active' and reservations.expires_at > $3) as active_reservations,
     (select status from webhook_endpoints where webhook_endpoints.system_id = $1
        and webhook_endpoints.partner_id = partner.id and pause_reason is distinct from 'removed' limit 1) as endpoint_status,
     coalesce(today.requests, 0)::bigint as requests_today
   from partners partner
   left join (select partner_id, sum(requests) as requests from key_usage_days
              where system_id = $1 and day = $4::date group by partner_id) as today on today.partner_id = partner.id
   where partner.system_id = $1 and ($2::text is null or partner.id = $2)
   order by partner.created_at, partner.id`,
);

/** Every partner of a system, removed ones too, the oldest first; or one of them. */
export function listPartnerOverviews(
  db: Queryable,
  systemId: string,
  now: Date,
  partnerId?: string,
): Promise<PartnerOverview[]> {
  return db.query<PartnerOverview>(overviews, [systemId, partnerId ?? null, now, now.toISOString().slice(0, 10)]);
}
