import { type DeliveryName, deliveryOf } from "@bikeshare/contract";
import { statement } from "../src/storage/db/statement.ts";
import type { TestDatabase } from "./database.ts";

type Database = Pick<TestDatabase, "db" | "systemId">;

const partner = statement(
  "test.notices.partner",
  "insert into partners (system_id, id, name, created_at) values ($1, $2, $2, now()) on conflict do nothing",
);
const endpoint = statement(
  "test.notices.endpoint",
  `insert into webhook_endpoints (system_id, id, partner_id, tag, url, events, status, pause_reason, paused_at, created_at, updated_at)
   values ($1, 'endpoint_' || $2, $2, substr(md5($2), 1, 6), 'https://p.example', $3, $4,
     case when $4 = 'paused' then 'partner' end, case when $4 = 'paused' then now() end, now(), now())`,
);
const delivered = statement(
  "test.notices.delivered",
  `select d.partner_id as partner, d.status, d.event, d.id as delivery_id, b.occurred_at, b.data::json as data, d.due
   from (select deliveries.*, e.partner_id,
           exists (select from webhook_queue due where due.system_id = $1 and due.delivery_id = deliveries.id) as due
         from webhook_deliveries deliveries join webhook_endpoints e on e.system_id = $1 and e.id = endpoint_id
         where deliveries.system_id = $1) d
   join webhook_bodies b on b.system_id = $1 and b.created_on = d.created_on and b.event_id = d.event_id
   where d.event in ('station.updated', 'bike.state_changed')
   order by d.created_at, d.id, partner`,
);

/** Creates a partner with this id, whose endpoint subscribes to events. */
export async function subscribe(
  { db, systemId }: Database,
  partnerId: string,
  events: readonly DeliveryName[],
  status: "active" | "paused" = "active",
): Promise<void> {
  await db.query(partner, [systemId, partnerId]);
  await db.query(endpoint, [systemId, partnerId, events, status]);
}

/** A notice, with its delivery. */
export interface DeliveredNotice {
  readonly partner: string;
  readonly status: string;
  /** Whether the delivery is in the queue. */
  readonly due: boolean;
  readonly event: "station.updated" | "bike.state_changed";
  readonly delivery_id: string;
  readonly occurred_at: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns all notices, oldest first. Expects each to match the contract. */
export async function noticesIn({ db, systemId }: Database): Promise<DeliveredNotice[]> {
  const notices = await db.query<DeliveredNotice>(delivered, [systemId]);
  for (const { event, delivery_id, occurred_at: at, data } of notices) {
    const occurred_at = at.toISOString();
    deliveryOf(event).parse({ event, delivery_id, occurred_at, sent_at: occurred_at, data });
  }
  return notices;
}

/** Returns one field of the data of each notice. */
export async function tellingsOf(database: Database, field: string): Promise<unknown[]> {
  return (await noticesIn(database)).map(({ data }) => data[field]);
}
