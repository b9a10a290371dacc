import { cpuWithChildren, processorTimeOf } from "@bikeshare/load";
import type { Queryable } from "../src/storage/db/database.ts";
import { oneRow } from "../src/storage/db/rows.ts";
import { statement } from "../src/storage/db/statement.ts";

const backend = statement("bench.backend", "select pg_backend_pid() as pid");

/**
 * Returns the microseconds of processor time that a PostgreSQL server on this machine has used so far, including processes
 * that have ended.
 */
export async function postgresMicroseconds(db: Queryable): Promise<number> {
  const { pid } = oneRow(await db.query<{ pid: number }>(backend));
  // The parent of a connection's process is the postmaster, whose children are all processes of the server.
  return cpuWithChildren((await processorTimeOf(pid)).parent);
}
