import type { EventName, NoticeName } from "@bikeshare/contract";
import type { Command } from "../command-context.ts";
import type { Transaction } from "../storage/db/database.ts";
import { placeOf } from "./event-place.rules.ts";
import { insertEvents } from "./queries.ts";

/** Something that happened, to be recorded in the transaction of the change itself. */
export interface NewEvent {
  readonly name: EventName;
  /** When it happened. */
  readonly occurredAt: Date;
  /** The only partner that may see the event; null: every partner that may read the resource may see it. */
  readonly partnerId: string | null;
  /** The only webhook endpoint that receives the event; left out: every endpoint that subscribes receives it. */
  readonly endpointId?: string;
  /** The resource's JSON at that time. */
  readonly data: string;
}

/** A notice that is delivered but not listed: a changed resource, for every partner that may read it. */
export interface NewNotice {
  readonly name: NoticeName;
  readonly occurredAt: Date;
  readonly data: string;
}

/**
 * Records events and notices with their deliveries, in the transaction of the change. Afterwards the sequencer gives the
 * events their positions in the list, and the dispatcher sends the deliveries.
 */
export function recordEvents(
  tx: Transaction,
  { ids, systemId, now }: Omit<Command, "tx">,
  events: readonly (NewEvent | NewNotice)[],
): void {
  if (events.length === 0) return;
  const rows = events.map((event) => ({
    id: ids.next("event"),
    name: event.name,
    occurred_at: event.occurredAt,
    // Every event has a `partnerId`, and no notice has one.
    partner_id: "partnerId" in event ? event.partnerId : null,
    data: event.data,
    is_listed: "partnerId" in event,
    endpoint_id: ("endpointId" in event ? event.endpointId : undefined) ?? null,
    ...placeOf(event.name, event.data),
  }));
  insertEvents(tx, systemId, now, rows);
}
