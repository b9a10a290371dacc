import { columnsOfTable } from "../../storage/db/columns.ts";
import type { Queryable, Transaction } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";
import type { Tables } from "../../storage/db/tables.generated.ts";

/** A check that has found something, as it is kept. Its table has the name that release 0.1.0 knows. */
export type CheckRow = Tables["alerts"];

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
     ended_at = excluded.ended_at, episodes = excluded.episodes, unmailed = excluded.unmailed, results = excluded.results`,
);

/** All checks that have found something lately, which no other process changes until the transaction ends. */
export async function lockCheckRows(tx: Transaction): Promise<CheckRow[]> {
  await tx.query(lock);
  return tx.query<CheckRow>(list);
}

export function listCheckRows(db: Queryable): Promise<CheckRow[]> {
  return db.query<CheckRow>(list);
}

export async function updateCheckRows(tx: Transaction, rows: readonly CheckRow[]): Promise<void> {
  if (rows.length > 0) await tx.query(upsert, stored.arrays(rows));
}

export async function deleteCheckRow(
  tx: Transaction,
  { name, scope }: Pick<CheckRow, "name" | "scope">,
): Promise<void> {
  await tx.query(remove, [name, scope]);
}

const waitingEvents = statement(
  "checks.waitingEvents",
  `select extract(epoch from now() - min(occurred_at))::int as seconds from event_outbox
   where system_id = $1 and id <> all(array(
     select unit from work_failures where system_id = $1 and work = 'number-event'))`,
);

/** For how many seconds the oldest event of a system has waited for its number; null: none waits. */
export async function findEventWait(db: Queryable, systemId: string): Promise<number | null> {
  return oneRow(await db.query<{ seconds: number | null }>(waitingEvents, [systemId])).seconds;
}
