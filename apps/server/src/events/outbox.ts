import type { EventName, NoticeName } from "@bikeshare/contract";
import type { Transaction } from "../db/database.ts";
import { type Statement, statement } from "../db/statement.ts";
import type { Ids } from "../ids.ts";
import { insertDeliveries } from "../webhooks/queue/sql-fragments.ts";

/** Something that happened, to be written in the transaction of the change itself. */
export interface NewEvent {
  readonly name: EventName;
  /** When it happened. */
  readonly occurredAt: Date;
  /** Whose event it is; null: every partner's that may read the resource. */
  readonly partnerId: string | null;
  /** The resource's JSON at that moment. */
  readonly data: string;
}

/** Where and when events are recorded. */
export interface OutboxMoment {
  readonly ids: Ids;
  readonly systemId: string;
  readonly now: Date;
}

/** What is delivered and not listed: a resource's state after a change, for every partner that may read it. */
export interface NewNotice {
  readonly name: NoticeName;
  readonly occurredAt: Date;
  readonly data: string;
}

/** The events, and a delivery of each to the endpoints that subscribe to it. */
const insert = (name: string, also: string): Statement =>
  statement(
    name,
    `with new as materialized (
       select id, name, occurred_at, partner_id, data
       from unnest($3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[])
         as new (id, name, occurred_at, partner_id, data)),
     ${also}
     ${insertDeliveries("new")}`,
  );
const insertEvents = insert(
  "outbox.insert",
  `recorded as (
       insert into event_outbox (system_id, id, name, occurred_at, partner_id, data)
       select $1, id, name, occurred_at, partner_id, data from new),`,
);
const insertNotices = insert("outbox.insertNotices", "");
const tell = statement("outbox.tell", `select pg_notify('event_outbox', $1)`);

/**
 * Leaves events in the outbox, with their deliveries. They come into being with the transaction, or not at all; the
 * sequencer gives the events their place in the list afterwards, the dispatcher sends the deliveries.
 */
export function recordEvents(tx: Transaction, moment: OutboxMoment, events: readonly NewEvent[]): Promise<void> {
  return record(tx, insertEvents, moment, events);
}

/** Leaves deliveries of notices, for the endpoints that want them. They come into being with the transaction, or not at all. */
export function recordNotices(tx: Transaction, moment: OutboxMoment, notices: readonly NewNotice[]): Promise<void> {
  return record(
    tx,
    insertNotices,
    moment,
    notices.map((notice) => ({ ...notice, partnerId: null })),
  );
}

async function record(
  tx: Transaction,
  into: Statement,
  { ids, systemId, now }: OutboxMoment,
  events: readonly (NewEvent | (NewNotice & Pick<NewEvent, "partnerId">))[],
): Promise<void> {
  if (events.length === 0) return;
  await tx.query(into, [
    systemId,
    now,
    events.map(() => ids.next("event")),
    events.map((event) => event.name),
    events.map((event) => event.occurredAt),
    events.map((event) => event.partnerId),
    events.map((event) => event.data),
  ]);
  await tx.query(tell, [systemId]);
}
