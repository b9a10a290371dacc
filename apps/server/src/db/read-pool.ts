import { availableParallelism } from "node:os";
import pg from "pg";
import { closeWithin, connectionSettings, SESSION_OPTIONS, STATEMENT_TIMEOUT_MS, timeouts } from "./database.ts";
import { DatabaseUnavailable, isStalePlan, nameConnectionError } from "./errors.ts";
import type { OutageGate } from "./outage-gate.ts";
import type { StatementObserver } from "./statement-observer.ts";
import { prepareAgain, preparedName, type Statement } from "./statement.ts";

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
  /**
   * Default: one for every two cores. Each keeps a PostgreSQL process busy. With more, those processes
   * take the processor from this one (on 2 cores three answer a fifth fewer requests than one); with fewer, PostgreSQL
   * reads with less than the machine has.
   */
  readonly connections?: number;
  /** After it PostgreSQL cancels a statement. */
  readonly statementTimeoutMs?: number;
}

/** Connects at the first read, and again whenever a connection breaks. */
export function openReadPool(options: ReadPoolOptions): ReadPool {
  const connections = Array.from({ length: options.connections ?? Math.ceil(availableParallelism() / 2) }, () =>
    createConnection(options),
  );
  let next = 0;
  const read = async <Row>(statement: Statement, values: readonly unknown[]): Promise<Row[]> => {
    next = (next + 1) % connections.length;
    const connection = connections[next] ?? connections[0];
    if (connection === undefined) throw new Error("a read pool needs at least one connection");
    const client = connection.current() ?? (await connection.connect());
    connection.batchWrites();
    const ended = options.observer?.statementSent(statement.name);
    const name = preparedName(statement);
    try {
      // The row's shape is what the statement says; each queries.ts writes it beside its SQL.
      const rows = (await send(client, name, statement.text, values)) as Row[];
      ended?.();
      return rows;
    } catch (error) {
      ended?.(error);
      if (isStalePlan(error)) {
        prepareAgain(statement, name);
        return read(statement, values);
      }
      throw connection.current() === client ? error : new DatabaseUnavailable("connection lost", { cause: error });
    }
  };
  const { outages } = options;
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
      await Promise.all(connections.map((slot) => slot.close()));
    },
  };
}

/**
 * Sends a statement as pg's `query` does, without its copy of an options object, property by property, and without a promise
 * of its own: both together cost as much as sending.
 */
function send(client: pg.Client, name: string, text: string, values: readonly unknown[]): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const query: pg.Query & { name?: string } = new pg.Query(text, [...values], (error, result) =>
      error ? reject(error) : resolve(result.rows),
    );
    query.name = name;
    client.query(query);
  });
}

function createConnection(options: ReadPoolOptions) {
  let current: pg.Client | undefined;
  let batching = false;
  let connecting: Promise<pg.Client> | undefined;
  let closed = false;

  async function connect(): Promise<pg.Client> {
    if (closed) throw new DatabaseUnavailable("the read pool is closed");
    const client = new pg.Client({
      ...connectionSettings(options.connectionString),
      // These statements have one good plan, whatever their values: planning them again costs more than running them.
      options: `${SESSION_OPTIONS} -c plan_cache_mode=force_generic_plan`,
      ...timeouts(options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS),
      pipeline: true,
    });
    const forget = () => {
      if (current === client) current = undefined;
    };
    client.on("error", forget);
    client.on("end", forget);
    await client.connect().catch((error: unknown) => {
      throw nameConnectionError(error);
    });
    if (closed) await closeWithin(client.end());
    else current = client;
    return client;
  }

  /**
   * Sends the statements of one pass of the event loop in one write. Each write calls the system and may wake PostgreSQL up:
   * one for each statement takes a sixth of the time of a page.
   */
  function batchWrites(): void {
    const stream = current?.connection.stream;
    if (batching || stream === undefined) return;
    batching = true;
    stream.cork();
    setImmediate(() => {
      batching = false;
      stream.uncork();
    });
  }

  return {
    current: () => current,
    batchWrites,
    connect: () => {
      connecting ??= connect().finally(() => (connecting = undefined));
      return connecting;
    },
    close: async () => {
      closed = true;
      if (current !== undefined) await closeWithin(current.end());
    },
  };
}
