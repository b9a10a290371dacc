import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";
import { insertIntoQueue, isOfSystem, PENDING_AGAIN, UNLESS_QUEUED } from "./sql-fragments.ts";

/*
 * Statements that queue a test delivery, a probe (the first delivery to a resumed endpoint) or a delivery that is sent
 * again, and make queued deliveries due now.
 */

/** A test delivery, which no event causes. */
interface NewTestDelivery {
  readonly id: string;
  readonly endpointId: string;
  /** The key of the delivery's body. */
  readonly eventId: string;
  readonly event: string;
  readonly data: string;
  /** Attempts that count as made already, so that a failed test is not retried. */
  readonly tries: number;
}

const insertTest = statement(
  "enqueue.test",
  `with test as materialized (
     select $6::text as delivery_id, $7::text as endpoint_id, $2::timestamptz::date as created_on, $3::text as event_id),
   body as (
     insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
     select $1, created_on, event_id, $4, $2, $5 from test),
   delivery as (
     insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, resource_id, created_at, status)
     select $1, created_on, delivery_id, endpoint_id, event_id, $4, $5::json ->> 'id', $2, 'pending' from test)
   ${insertIntoQueue("test", { dueAt: "$2", tries: "$8" })}`,
);

/** Queues a test delivery, due now. */
export async function insertTestDelivery(
  tx: Transaction,
  systemId: string,
  { id, endpointId, eventId, event, data, tries }: NewTestDelivery,
  now: Date,
): Promise<void> {
  await tx.query(insertTest, [systemId, now, eventId, event, data, id, endpointId, tries]);
}

const probe = statement(
  "enqueue.probe",
  `with oldest as materialized (
     select delivery.created_on, delivery.id from webhook_deliveries delivery
     where delivery.system_id = $1 and delivery.endpoint_id = $2 and delivery.problem = 'held'
       and exists (select from webhook_bodies body where body.system_id = $1
         and body.created_on = delivery.created_on and body.event_id = delivery.event_id)
     order by delivery.created_at, delivery.id
     limit 1
     for update of delivery),
   back as (
     update webhook_deliveries delivery set ${PENDING_AGAIN}
     from oldest
     where delivery.system_id = $1 and delivery.created_on = oldest.created_on and delivery.id = oldest.id
     returning delivery.id as delivery_id, delivery.endpoint_id, delivery.created_on, delivery.event_id, delivery.attempts)
   ${insertIntoQueue("back", { dueAt: "$3", attempts: "attempts" })}
   ${UNLESS_QUEUED}
   returning delivery_id`,
);

/**
 * Queues an endpoint's oldest held delivery whose body is stored, due now.
 * @returns its id; undefined: there is none
 */
export async function insertProbe(
  tx: Transaction,
  systemId: string,
  endpointId: string,
  now: Date,
): Promise<string | undefined> {
  return (await tx.query<{ delivery_id: string }>(probe, [systemId, endpointId, now]))[0]?.delivery_id;
}

// Also queues a pending delivery that is not queued, which only a manual change of the database can cause.
const redelivery = statement(
  "enqueue.redelivery",
  `with back as (
     update webhook_deliveries set ${PENDING_AGAIN}
     where system_id = $1 and created_on = $2 and id = $3 and (status <> 'pending'
       or not exists (select from webhook_queue where system_id = $1 and delivery_id = $3))
     returning id as delivery_id, endpoint_id, created_on, event_id, attempts)
   ${insertIntoQueue("back", { dueAt: "$4", attempts: "attempts" })}
   ${UNLESS_QUEUED}
   returning delivery_id`,
);

/** Queues a finished or held delivery with a fresh schedule, due now. @returns false: it is queued already */
export async function insertRedelivery(
  tx: Transaction,
  systemId: string,
  { id, created_on: createdOn }: Pick<Tables["webhook_deliveries"], "id" | "created_on">,
  now: Date,
): Promise<boolean> {
  return (await tx.query(redelivery, [systemId, createdOn, id, now])).length > 0;
}

const dueNow = statement(
  "enqueue.dueNow",
  `update webhook_queue set due_at = $3 where system_id = $1 and delivery_id = $2 and claim is null and due_at > $3
   returning delivery_id`,
);

/** Makes a delivery that waits for its next attempt due now. @returns false: it does not wait */
export async function updateDueNow(tx: Transaction, systemId: string, id: string, now: Date): Promise<boolean> {
  return (await tx.query(dueNow, [systemId, id, now])).length > 0;
}

const allDueNow = statement(
  "enqueue.allDueNow",
  `with waiting as materialized (
     select ctid as row_address from webhook_queue
     where system_id = $1 and endpoint_id = $2 and claim is null and due_at > $3 and delivery_id > $4
     order by delivery_id
     limit $5
     for update skip locked)
   update webhook_queue queued set due_at = $3 from waiting
   where ${isOfSystem("queued")} and queued.ctid = waiting.row_address
   returning queued.delivery_id`,
);

/**
 * Makes an endpoint's deliveries that wait for their next attempts due now: the first `limit` by id after the id `after`.
 * @returns their ids, sorted
 */
export async function updateAllDueNow(
  db: Queryable,
  { systemId, endpointId }: { readonly systemId: string; readonly endpointId: string },
  now: Date,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<string[]> {
  const rows = await db.query<{ delivery_id: string }>(allDueNow, [systemId, endpointId, now, after, limit]);
  return rows.map(({ delivery_id: id }) => id).toSorted();
}

const notify = statement("enqueue.notify", `select pg_notify('event_outbox', $1)`);

/** Notifies the dispatchers, which listen to this channel, when the transaction commits: a delivery is due. */
export async function notifyQueued(db: Queryable, systemId: string): Promise<void> {
  await db.query(notify, [systemId]);
}
