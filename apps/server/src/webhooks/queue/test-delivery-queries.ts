import type { Transaction } from "../../db/database.ts";
import { statement } from "../../db/statement.ts";
import { TEST_MARK } from "./test-mark.ts";

/** SQL that is true of a test delivery. @param id the column with its id */
export function isTest(id: string): string {
  return `right(${id}, ${TEST_MARK.length}) = '${TEST_MARK}'`;
}

/** A delivery that stands for no event. */
export interface NewTestDelivery {
  readonly id: string;
  readonly endpointId: string;
  /** Of no event: what its body is kept under. */
  readonly eventId: string;
  readonly event: string;
  readonly data: string;
  /** Tries that count as made. */
  readonly tries: number;
}

const insert = statement(
  "testDeliveries.insert",
  `with said as (
     insert into webhook_bodies (system_id, created_on, event_id, event, occurred_at, data)
     values ($1, $2::timestamptz::date, $3, $4, $2, $5)),
   delivered as (
     insert into webhook_deliveries (system_id, created_on, id, endpoint_id, event_id, event, created_at, status, stuck)
     values ($1, $2::timestamptz::date, $6, $7, $3, $4, $2, 'pending', false))
   insert into webhook_queue (system_id, delivery_id, endpoint_id, created_on, event_id, due_at, tries)
   values ($1, $6, $7, $2::timestamptz::date, $3, $2, $8)`,
);

/** Puts a test delivery in line, due now. */
export async function insertTestDelivery(
  tx: Transaction,
  systemId: string,
  { id, endpointId, eventId, event, data, tries }: NewTestDelivery,
  now: Date,
): Promise<void> {
  await tx.query(insert, [systemId, now, eventId, event, data, id, endpointId, tries]);
}
