import { readdir, readFile } from "node:fs/promises";
import type { Database } from "../../src/storage/db/database.ts";
import { oneRow } from "../../src/storage/db/rows.ts";
import { statement } from "../../src/storage/db/statement.ts";

/** Microseconds of processor time, the user's and the system's, that each side has used so far (Linux; elsewhere NaN). */
export interface ProcessorTime {
  readonly sender: number;
  readonly postgres: number;
  readonly receiver: number;
}

const backend = statement("bench.backend", "select pg_backend_pid() as pid");

/** @param db in the PostgreSQL whose processes are counted, which must run on this machine */
export async function processorTime(db: Database, receiverPid: number): Promise<ProcessorTime> {
  const { user, system } = process.cpuUsage();
  return { sender: user + system, postgres: await postgresTime(db), receiver: (await usageOf(receiverPid)).own };
}

/**
 * Microseconds that the database's server, its children that live, and those that have ended have used so far.
 * @param db in the PostgreSQL whose processes are counted, which must run on this machine
 */
export async function postgresTime(db: Database): Promise<number> {
  const { pid } = oneRow(await db.query<{ pid: number }>(backend));
  const serverPid = (await usageOf(pid)).parent;
  const server = await usageOf(serverPid);
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const usages = await Promise.all(pids.map((each) => usageOf(Number(each))));
  const children = usages.filter(({ parent }) => parent === serverPid);
  return children.reduce((sum, { own }) => sum + own, server.own + server.ended);
}

interface Usage {
  readonly parent: number;
  readonly own: number;
  /** Of its children that have ended. */
  readonly ended: number;
}

async function usageOf(pid: number): Promise<Usage> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name before them may hold blanks. By the numbers of proc(5): 4 is the parent, 14 to 17 are ticks of 10 ms.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { parent: field(4), own: (field(14) + field(15)) * 10_000, ended: (field(16) + field(17)) * 10_000 };
}
