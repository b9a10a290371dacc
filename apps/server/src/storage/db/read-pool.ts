import { availableParallelism } from "node:os";
import type { OutageGate } from "./outage-gate.ts";
import { createPipelinedConnection, type PipelinedConnection } from "./pipelined-connection.ts";
import { IS_DISTRIBUTED } from "./sql-fragments.ts";
import { type Statement, statement, type StatementObserver } from "./statement.ts";

/** Runs short reads over a few pipelined connections: each is sent without waiting for the result of the one before. */
export interface ReadPool {
  /** Runs one prepared statement that only reads and is quick: a slow one delays those sent after it. */
  read<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface ReadPoolOptions {
  readonly connectionString: string;
  /** Makes reads wait during an outage of the database. Default: they fail. */
  readonly outages?: OutageGate;
  readonly observer?: StatementObserver | undefined;
  /** Default: `READ_CONNECTIONS`. */
  readonly connections?: number;
  /** Milliseconds after which PostgreSQL cancels a statement. */
  readonly statementTimeoutMs?: number;
}

/**
 * One connection for every two cores. Each keeps a PostgreSQL process busy. Too high: these processes take the processor
 * from this one (on 2 cores three connections answer a fifth fewer requests than one). Too low: PostgreSQL leaves cores
 * unused.
 */
export const READ_CONNECTIONS = Math.ceil(availableParallelism() / 2);

const keepPlansUnlessDistributed = statement(
  "readPool.keepPlans",
  `select set_config('plan_cache_mode', 'force_generic_plan', false) where not ${IS_DISTRIBUTED}`,
);

/**
 * Makes a connection plan each statement once. Statements of a read pool have one good plan for all values, and planning
 * them each time would cost more than running them. Does nothing in a distributed database, where each value needs a plan.
 */
export async function keepPlans(query: PipelinedConnection["query"]): Promise<void> {
  await query(keepPlansUnlessDistributed);
}

/** Connects at the first read, and again whenever a connection breaks. */
export function openReadPool({
  connections: count = READ_CONNECTIONS,
  outages,
  ...options
}: ReadPoolOptions): ReadPool {
  const connections = Array.from({ length: count }, () =>
    createPipelinedConnection({ ...options, onConnect: keepPlans }),
  );
  let next = 0;
  const read = <Row>(wanted: Statement, values: readonly unknown[]): Promise<Row[]> => {
    next = (next + 1) % connections.length;
    const connection = connections[next];
    if (connection === undefined) throw new Error("a read pool needs at least one connection");
    return connection.query<Row>(wanted, values);
  };
  return {
    read:
      outages === undefined
        ? read
        : (wanted, values) =>
            outages.run(
              () => read(wanted, values),
              // A read may be repeated after any error.
              () => true,
            ),
    close: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}
