import type { Queryable } from "../../storage/db/database.ts";
import { oneRow } from "../../storage/db/rows.ts";
import { statement } from "../../storage/db/statement.ts";

/*
 * The processes that answer requests. Each has a row in `api_processes`, and counts as alive until `alive_until`, which its
 * heartbeats move ahead. While Redis is configured and cannot be used, the rate limits are divided among these processes.
 */

const heartbeat = statement(
  "apiProcesses.heartbeat",
  `insert into api_processes (process, alive_until) values ($1, now() + $2::bigint * interval '1 ms')
   on conflict (process) do update set alive_until = excluded.alive_until`,
);
const countOthers = statement(
  "apiProcesses.count",
  `select count(*) filter (where alive_until > now()) as n,
     count(*) filter (where alive_until < now() - interval '1 hour') as dead
   from api_processes where process <> $1`,
);
// Leaves out a process whose heartbeat is over 5 seconds old: it has missed two heartbeats and was probably killed. A
// heartbeat sets `alive_until` to 10 seconds ahead.
const countRecent = statement(
  "apiProcesses.countRecent",
  "select count(*) as n from api_processes where alive_until > now() + interval '5 seconds'",
);
const deleteOne = statement("apiProcesses.delete", "delete from api_processes where process = $1");
const deleteDead = statement(
  "apiProcesses.deleteDead",
  "delete from api_processes where alive_until < now() - interval '1 hour'",
);

/** Records a process as alive for `aliveMs`; deletes those killed over an hour ago. @returns how many others are alive */
export async function updateApiHeartbeat(db: Queryable, process: string, aliveMs: number): Promise<number> {
  await db.query(heartbeat, [process, aliveMs]);
  const { n, dead } = oneRow(await db.query<{ n: number; dead: number }>(countOthers, [process]));
  if (dead > 0) await db.query(deleteDead);
  return n;
}

/** Counts the processes that sent a heartbeat in the last 5 seconds: those that answer requests. */
export async function countApiProcesses(db: Queryable): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countRecent)).n;
}

/** Deletes the record of a process that ends. */
export async function deleteApiProcess(db: Queryable, process: string): Promise<void> {
  await db.query(deleteOne, [process]);
}
