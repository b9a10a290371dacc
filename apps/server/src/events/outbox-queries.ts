import { arrayOf, columnsOfTable, type RowOf } from "../storage/db/columns.ts";
import type { Transaction } from "../storage/db/database.ts";
import { statement } from "../storage/db/statement.ts";
import { rowsOfSystem } from "../storage/db/system-rows.ts";
import { insertDeliveries } from "../webhooks/queue/sql-fragments.ts";

const columns = columnsOfTable("event_outbox")
  .without("system_id")
  .and({ is_listed: arrayOf<boolean>("boolean") });

/** The events, and a delivery of each to the endpoints that subscribe to it. */
const insert = statement(
  "outbox.insert",
  `with recorded as (
       insert into event_outbox (system_id, id, name, occurred_at, partner_id, data)
       select placed.system_id, id, name, occurred_at, partner_id, data
       from ${rowsOfSystem(columns.unnest(3, "event"), "is_listed")}),
     ${insertDeliveries(columns.unnest(3, "event"))}
     select`,
);

/** An event with its id, and whether it is listed: other events are only delivered. */
export type OutboxRow = RowOf<typeof columns>;

/** Inserts events with their deliveries, and notifies listeners after the commit. */
export function insertEvents(tx: Transaction, systemId: string, now: Date, rows: readonly OutboxRow[]): void {
  tx.send(insert, [systemId, now, ...columns.arrays(rows)]);
  tx.notify("event_outbox", systemId);
}
