import type { Queryable } from "../db/database.ts";
import { oneRow } from "../db/rows.ts";
import { statement } from "../db/statement.ts";

const heartbeat = statement(
  "apiProcesses.heartbeat",
  `insert into api_processes (process, alive_until) values ($1, now() + $2::bigint * interval '1 ms')
   on conflict (process) do update set alive_until = excluded.alive_until`,
);
const countAlive = statement(
  "apiProcesses.count",
  "select count(*) as n from api_processes where process <> $1 and alive_until > now()",
);
const deleteOne = statement("apiProcesses.delete", "delete from api_processes where process = $1");
const deleteDead = statement(
  "apiProcesses.deleteDead",
  "delete from api_processes where alive_until < now() - interval '1 hour'",
);

/** Counts a process as alive for `aliveMs`. @returns how many others are */
export async function updateApiHeartbeat(db: Queryable, process: string, aliveMs: number): Promise<number> {
  await db.query(heartbeat, [process, aliveMs]);
  return oneRow(await db.query<{ n: number }>(countAlive, [process])).n;
}

/** How many processes answer requests now. */
export async function countApiProcesses(db: Queryable): Promise<number> {
  return oneRow(await db.query<{ n: number }>(countAlive, [""])).n;
}

/** Deletes a process that ends, and those that ended long ago without deleting themselves. */
export async function deleteApiProcess(db: Queryable, process: string): Promise<void> {
  await db.query(deleteOne, [process]);
  await db.query(deleteDead);
}
