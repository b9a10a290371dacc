import { readFile } from "node:fs/promises";
import { type Database, openDatabase, type QueryRunner } from "../../src/storage/db/database.ts";
import { openReadPool, type ReadPool } from "../../src/storage/db/read-pool.ts";
import { statement, type Statement } from "../../src/storage/db/statement.ts";
import { type ReadContext, readContextOn } from "../../src/storage/lists/read-context.ts";
import { nodesOf, type PlanNode, rowsSeenBy } from "../../test/plan-nodes.ts";

/**
 * The work to answer a request. Each figure is the least of its repetitions, so that a busy machine has little effect.
 */
export interface Work {
  /** 8 KiB pages that PostgreSQL reads. */
  readonly buffers: number;
  /** Rows and index entries that PostgreSQL reads. */
  readonly visited: number;
  /**
   * Milliseconds in which PostgreSQL executes the statements. `planningMs`: in which it plans those that are planned for
   * each request.
   */
  readonly executionMs: number;
  readonly planningMs: number;
  /** Milliseconds of processor time of this process and PostgreSQL together. */
  readonly processorMs: number;
}

type DatabaseWork = Omit<Work, "processorMs">;

/** A statement that a read has sent to PostgreSQL. */
interface Sent {
  readonly statement: Statement;
  readonly values: readonly unknown[];
  /** Whether the statement is prepared, with one plan for all values. */
  readonly isPrepared: boolean;
}

/** Runs reads as the service does, and measures their work. */
export interface Meter {
  readonly context: ReadContext;
  /** Measures the statements of a read, and the processor time of the read. */
  measure(read: () => Promise<unknown>, repetitions: number): Promise<Work>;
  /** Measures only the statements, once, without this process. */
  look(read: () => Promise<unknown>): Promise<DatabaseWork>;
  /** Measures the milliseconds of processor time of this process and PostgreSQL for one read. */
  processor(read: () => Promise<unknown>): Promise<number>;
  /** Returns the output of EXPLAIN for the statements. */
  plans(read: () => Promise<unknown>): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * Opens a meter of reads from the given database. The context that it offers records the statements of a read. They are then
 * explained on a separate connection. As in the service, lists without filters are read by prepared statements (`readPool`),
 * and filtered lists are planned at each request (`filtered`).
 */
export async function openMeter(connectionString: string): Promise<Meter> {
  const pool = openReadPool({ connectionString, connections: 1 });
  const filtered = openDatabase({ connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  const explaining = openDatabase({ connectionString, maxConnections: 1, statementTimeoutMs: 0 });
  /** Reads the pids each time, because the pool closes idle connections. */
  const pidsNow = async () => [
    await pidOf((asked) => pool.read(asked, [])),
    await pidOf((asked) => filtered.query(asked)),
  ];
  /** The statements of the read that is being recorded. Undefined: none is recorded. */
  let sent: Sent[] | undefined;
  const record = (asked: Statement, values: readonly unknown[], isPrepared: boolean) =>
    sent?.push({ statement: asked, values, isPrepared });
  const readPool: ReadPool = {
    read: (asked, values) => {
      record(asked, values, true);
      return pool.read(asked, values);
    },
    close: () => Promise.resolve(),
  };
  const db: QueryRunner = {
    query: (asked, values = []) => {
      record(asked, values, false);
      return filtered.query(asked, values);
    },
  };
  const statementsOf = async (read: () => Promise<unknown>) => {
    // Runs the read once before, to fill the caches in memory.
    await read();
    sent = [];
    await read();
    const found = sent;
    sent = undefined;
    return found;
  };
  return {
    context: {
      ...readContextOn(filtered),
      readPool,
      filtered: { ...readContextOn(filtered).filtered, read: (_, work) => work(db) },
    },
    measure: async (read, repetitions) => ({
      ...(await workOf(explaining, await statementsOf(read), repetitions)),
      processorMs: await leastProcessor(await pidsNow(), read, repetitions),
    }),
    look: async (read) => workOf(explaining, await statementsOf(read), 1),
    processor: async (read) => leastProcessor(await pidsNow(), read, 1),
    plans: async (read) => plansOf(explaining, await statementsOf(read)),
    async close() {
      await Promise.all([pool.close(), filtered.close(), explaining.close()]);
    },
  };
}

/** Returns the work of PostgreSQL for the statements of a read together. */
async function workOf(db: Database, statements: readonly Sent[], repetitions: number) {
  const work = { buffers: 0, visited: 0, executionMs: 0, planningMs: 0 };
  for (const each of statements) {
    const least = await leastOf(db, each, repetitions);
    work.buffers += least.buffers;
    work.visited += least.visited;
    work.executionMs += least.executionMs;
    work.planningMs += least.planningMs;
  }
  return work;
}

async function plansOf(db: Database, statements: readonly Sent[]): Promise<string[]> {
  const plans: string[] = [];
  for (const each of statements) {
    const rows = await explained<{ "QUERY PLAN": string }>(db, each, "analyze, buffers, timing off");
    plans.push(`-- ${each.statement.name}`, ...rows.map((row) => row["QUERY PLAN"]));
  }
  return plans;
}

/** Returns the milliseconds of processor time of this process and of `pids`, for the cheapest of several reads. */
async function leastProcessor(pids: readonly number[], read: () => Promise<unknown>, repetitions: number) {
  let least = Infinity;
  for (let n = 0; n < repetitions; n++) {
    const [mine, theirs] = [process.cpuUsage(), await processorOf(pids)];
    await read();
    const { user, system } = process.cpuUsage(mine);
    least = Math.min(least, (user + system) / 1000 + (await processorOf(pids)) - theirs);
  }
  return least;
}

/** Returns the rows and index entries that a plan has read. */
function visitedBy(plan: PlanNode): number {
  // Counts only nodes that read tables and indexes, not nodes that process rows further.
  return nodesOf(plan)
    .filter((node) => /^(Seq|Index|Bitmap)/.test(node["Node Type"]))
    .reduce((sum, node) => sum + rowsSeenBy(node), 0);
}

interface Explained {
  readonly Plan: PlanNode & { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };
  readonly "Execution Time": number;
  readonly "Planning Time": number;
}

/** Runs a statement several times, and returns the least of each figure. */
async function leastOf(db: Database, sent: Sent, repetitions: number): Promise<DatabaseWork> {
  let least = { buffers: Infinity, visited: Infinity, executionMs: Infinity, planningMs: Infinity };
  for (let n = 0; n < repetitions; n++) {
    const rows = await explained<{ "QUERY PLAN": readonly [Explained] }>(
      db,
      sent,
      "analyze, buffers, timing off, format json",
    );
    const [found] = rows.flatMap((row) => row["QUERY PLAN"]);
    if (found === undefined) throw new Error("a statement has no plan");
    const { Plan: plan } = found;
    least = {
      buffers: Math.min(least.buffers, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]),
      visited: Math.min(least.visited, visitedBy(plan)),
      executionMs: Math.min(least.executionMs, found["Execution Time"]),
      planningMs: sent.isPrepared ? 0 : Math.min(least.planningMs, found["Planning Time"]),
    };
  }
  return least;
}

/** Explains a statement with the plan that the service gets: for a prepared one, the generic plan for all values. */
async function explained<Row>(
  db: Database,
  { statement: { text }, values, isPrepared }: Sent,
  options: string,
): Promise<Row[]> {
  if (!isPrepared) return db.query<Row>(statement("", `explain (${options}) ${text}`), values);
  return db.transaction(async (tx) => {
    await tx.run("set local plan_cache_mode = force_generic_plan");
    await tx.run(`prepare measured as ${text}`);
    const literals = values.map(literal).join(", ");
    const rows = await tx.query<Row>(
      statement("", `explain (${options}) execute measured${literals === "" ? "" : `(${literals})`}`),
    );
    await tx.run("deallocate measured");
    return rows;
  });
}

/** Returns a value as SQL, because EXPLAIN EXECUTE takes no parameters. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
  if (value instanceof Date) return quoted(value.toISOString());
  if (Array.isArray(value)) return quoted(`{${value.map((each) => JSON.stringify(String(each))).join(",")}}`);
  return quoted(typeof value === "string" ? value : JSON.stringify(value));
}

async function pidOf(query: (sent: Statement) => Promise<{ pid: number }[]>): Promise<number> {
  const [row] = await query(statement("bench.pid", "select pg_backend_pid() as pid"));
  if (row === undefined) throw new Error("a connection has a process");
  return row.pid;
}

/** Returns the milliseconds of processor time that processes have used. */
async function processorOf(pids: readonly number[]): Promise<number> {
  let sum = 0;
  // The first figure of schedstat is the time on a processor, in nanoseconds.
  for (const pid of pids) sum += Number((await readFile(`/proc/${pid}/schedstat`, "utf8")).split(" ")[0]) / 1e6;
  return sum;
}
