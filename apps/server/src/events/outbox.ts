import type { EventName, NoticeName } from "@bikeshare/contract";
import type { Transaction } from "../db/database.ts";
import { type Statement, statement } from "../db/statement.ts";
import type { Ids } from "../ids.ts";

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

/**
 * SQL that is true where an endpoint of the system `$1` wants a notice: for statements that change what it tells of, so
 * that they give nothing more as long as nobody does.
 */
export function isWanted(name: NoticeName): string {
  return `exists (select from webhook_endpoints where system_id = $1 and '${name}' = any(events))`;
}

/*
 * The event, and a delivery of it to each endpoint that wants it: due at once, or held while the endpoint is paused.
 * A delivery's id is made of its event's and its endpoint's, because only the statement knows the endpoints.
 */
const insert = (name: string, also: string): Statement =>
  statement(
    name,
    `with new as materialized (
       select id, name, occurred_at, partner_id, data
       from unnest($3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[])
         as new (id, name, occurred_at, partner_id, data)),
     ${also}
     wanted as materialized (
       select 'delivery_' || substr(new.id, strpos(new.id, '_') + 1) || e.tag as delivery_id, e.id as endpoint_id,
         e.status = 'paused' as paused, new.id as event_id, new.name
       from new join webhook_endpoints e on e.system_id = $1 and new.name = any(e.events)
         and (new.partner_id is null or new.partner_id = e.partner_id)),
     said as (
       insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
       select $1, $2::timestamptz::date, id, name, occurred_at, data from new
       where id in (select event_id from wanted)),
     delivered as (
       insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status, stuck)
       select $1, $2::timestamptz::date, delivery_id, endpoint_id, event_id, name, $2,
         case when paused then 'held' else 'pending' end, paused
       from wanted)
     insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at)
     select $1, delivery_id, endpoint_id, $2::timestamptz::date, event_id, $2 from wanted where not paused`,
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
