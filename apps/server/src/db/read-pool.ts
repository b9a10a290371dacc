import { availableParallelism } from "node:os";
import type { OutageGate } from "./outage-gate.ts";
import { createPipelinedConnection } from "./pipelined-connection.ts";
import type { StatementObserver } from "./statement-observer.ts";
import type { Statement } from "./statement.ts";

/** Runs short reads over a few pipelined connections: each is sent without waiting for the result of the one before. */
export interface ReadPool {
  /** Runs one prepared statement that only reads and is quick: a slow one delays those sent after it. */
  read<Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

export interface ReadPoolOptions {
  readonly connectionString: string;
  /** Has reads wait while the database is away. Default: they fail. */
  readonly outages?: OutageGate;
  readonly observer?: StatementObserver | undefined;
  /** Default: `READ_CONNECTIONS`. */
  readonly connections?: number;
  /** After it PostgreSQL cancels a statement. */
  readonly statementTimeoutMs?: number;
}

/**
 * One for every two cores. Each keeps a PostgreSQL process busy. With more, those processes take the processor from this
 * one (on 2 cores three answer a fifth fewer requests than one); with fewer, PostgreSQL reads with less than the machine
 * has.
 */
export const READ_CONNECTIONS = Math.ceil(availableParallelism() / 2);

/** These statements have one good plan, whatever their values: planning them again costs more than running them. */
export const READ_SESSION_OPTIONS = "-c plan_cache_mode=force_generic_plan";

/** Connects at the first read, and again whenever a connection breaks. */
export function openReadPool({
  connections: count = READ_CONNECTIONS,
  outages,
  ...options
}: ReadPoolOptions): ReadPool {
  const connections = Array.from({ length: count }, () =>
    createPipelinedConnection({ ...options, sessionOptions: READ_SESSION_OPTIONS }),
  );
  let next = 0;
  const read = <Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> => {
    next = (next + 1) % connections.length;
    const connection = connections[next];
    if (connection === undefined) throw new Error("a read pool needs at least one connection");
    return connection.query<Row>(statement, values);
  };
  return {
    read:
      outages === undefined
        ? read
        : (statement, values) =>
            outages.run(
              () => read(statement, values),
              () => true,
            ),
    close: async () => {
      await Promise.all(connections.map((connection) => connection.close()));
    },
  };
}
