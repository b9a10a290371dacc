import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** An alert as it is kept. */
export type AlertRow = Tables["alerts"];

const stored = columnsOfTable("alerts").without();

// One process at a time: what two find at once would otherwise begin twice. Who only reads does not wait.
const lock = statement("alerts.lock", "lock table alerts in share row exclusive mode");
const list = statement("alerts.list", `select ${stored.list()} from alerts order by name, scope`);
const remove = statement("alerts.delete", "delete from alerts where name = $1 and scope = $2");
const upsert = statement(
  "alerts.upsert",
  `insert into alerts (${stored.list()}) select ${stored.list()} from ${stored.unnest(1, "row")}
   on conflict (name, scope) do update set severity = excluded.severity, detail = excluded.detail, fix = excluded.fix,
     began_at = excluded.began_at, seen_at = excluded.seen_at, mailed_at = excluded.mailed_at,
     ended_at = excluded.ended_at, episodes = excluded.episodes, unmailed = excluded.unmailed`,
);

/** All alerts, which no other process changes until the transaction ends. */
export async function lockAlerts(tx: Transaction): Promise<AlertRow[]> {
  await tx.query(lock);
  return tx.query<AlertRow>(list);
}

export function listAlerts(db: Queryable): Promise<AlertRow[]> {
  return db.query<AlertRow>(list);
}

export async function updateAlerts(tx: Transaction, alerts: readonly AlertRow[]): Promise<void> {
  if (alerts.length > 0) await tx.query(upsert, stored.arrays(alerts));
}

export async function deleteAlert(tx: Transaction, { name, scope }: Pick<AlertRow, "name" | "scope">): Promise<void> {
  await tx.query(remove, [name, scope]);
}

const waitingEvents = statement(
  "alerts.waitingEvents",
  `select extract(epoch from now() - min(occurred_at))::int as seconds from event_outbox
   where system_id = $1 and id <> all(array(
     select unit from work_failures where system_id = $1 and work = 'number-event'))`,
);

/** For how many seconds the oldest event of a system has waited for its number; null: none waits. */
export async function findEventWait(db: Queryable, systemId: string): Promise<number | null> {
  return oneRow(await db.query<{ seconds: number | null }>(waitingEvents, [systemId])).seconds;
}
