import type { EventName } from "@bikeshare/contract";
import type { Transaction } from "../db/database.ts";
import { statement } from "../db/statement.ts";
import type { Ids } from "../ids.ts";

/** Something that happened, to be written in the transaction of the change itself. */
export interface NewEvent {
  readonly name: EventName;
  /** When it happened. */
  readonly occurredAt: Date;
  /** Whose event it is; null: every partner's that may read the resource. */
  readonly partnerId: string | null;
  /** The resource's wire form at that moment. */
  readonly data: string;
}

const insert = statement(
  "outbox.insert",
  `insert into new_events (system_id, id, name, occurred_at, partner_id, data)
   select $1, id, name, occurred_at, partner_id, data
   from unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[])
     as new (id, name, occurred_at, partner_id, data)`,
);
const tell = statement("outbox.tell", `select pg_notify('new_events', $1)`);

/**
 * Leaves events in the outbox. They come into being with the transaction, or not at all; the sequencer gives them
 * their place in the list afterwards.
 */
export async function recordEvents(
  tx: Transaction,
  ids: Ids,
  systemId: string,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await tx.query(insert, [
    systemId,
    events.map(() => ids.next("event")),
    events.map((event) => event.name),
    events.map((event) => event.occurredAt),
    events.map((event) => event.partnerId),
    events.map((event) => event.data),
  ]);
  await tx.query(tell, [systemId]);
}
