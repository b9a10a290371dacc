import pg from "pg";
import { closeWithin, connectionSettings, STATEMENT_TIMEOUT_MS, timeouts, watchConnections } from "./database.ts";
import { DatabaseUnavailable, isStalePlan, nameConnectionError } from "./errors.ts";
import { ReportingClient, requirePrimary } from "./primary.ts";
import { prepareAgain, preparedName, type Statement, type StatementObserver } from "./statement.ts";

/** Sends each statement without waiting for the result of the one before. */
export interface PipelinedConnection {
  /** Runs one prepared statement. A slow one delays those sent after it. */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** Breaks the connection: pending statements fail at once, and the next statement connects anew. */
  destroy(): void;
  close(): Promise<void>;
}

export interface PipelinedConnectionOptions {
  readonly connectionString: string;
  /** Milliseconds after which PostgreSQL cancels a statement. */
  readonly statementTimeoutMs?: number;
  /** Further settings of the session, as in `-c jit=off`. */
  readonly sessionOptions?: string;
  readonly observer?: StatementObserver | undefined;
  /** Whether a standby is accepted. */
  readonly mayBeStandby?: boolean;
  /** Runs on each new connection before the statements of callers; if it fails, so does connecting. */
  readonly onConnect?: (query: PipelinedConnection["query"]) => Promise<void>;
}

/** Connects at the first statement, and again whenever the connection breaks. */
export function createPipelinedConnection(options: PipelinedConnectionOptions): PipelinedConnection {
  let current: pg.Client | undefined;
  let connecting: Promise<pg.Client> | undefined;
  let closed = false;
  const silence = watchConnections(options.connectionString);

  async function connect(): Promise<pg.Client> {
    if (closed) throw new DatabaseUnavailable("the connection is closed");
    const client = await openClient(options, (lost) => {
      if (current === lost) current = undefined;
    });
    silence.add(client);
    // `closed` may have been set while the client was connecting.
    if (closed) await closeWithin(client.end());
    else current = client;
    return client;
  }

  const query: PipelinedConnection["query"] = async <Row>(statement: Statement, values: readonly unknown[] = []) => {
    // Callers that come while a connection is being opened share it.
    const client = current ?? (await (connecting ??= connect().finally(() => (connecting = undefined))));
    batchWrites(client);
    const ended = options.observer?.statementSent(statement.name);
    const name = preparedName(statement);
    try {
      const rows = await send<Row>(client, name, statement.text, values);
      ended?.();
      return rows;
    } catch (error) {
      ended?.(error);
      if (isStalePlan(error)) {
        prepareAgain(statement, name);
        return query<Row>(statement, values);
      }
      // If the connection is lost, `current` is no longer this client.
      throw current === client
        ? nameConnectionError(error)
        : new DatabaseUnavailable("connection lost", { cause: error });
    }
  };
  return {
    query,
    destroy: () => {
      const broken = current;
      current = undefined;
      broken?.connection.stream.destroy();
    },
    close: async () => {
      closed = true;
      silence.close();
      if (current !== undefined) await closeWithin(current.end());
    },
  };
}

/** Connects, and prepares the connection for the statements of callers. @param onLost called when it breaks or ends */
async function openClient(
  options: PipelinedConnectionOptions,
  onLost: (client: pg.Client) => void,
): Promise<pg.Client> {
  const client = new ReportingClient({
    ...connectionSettings(options.connectionString, options.sessionOptions),
    ...timeouts(options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS),
    pipeline: true,
  });
  client.on("error", () => onLost(client));
  client.on("end", () => onLost(client));
  try {
    await client.connect();
    if (options.mayBeStandby !== true) await requirePrimary(client);
    await options.onConnect?.(<Row>({ name, text }: Statement, values?: readonly unknown[]) =>
      send<Row>(client, name, text, values),
    );
    return client;
  } catch (error) {
    client.end().catch(() => undefined);
    throw nameConnectionError(error);
  }
}

/**
 * Sends a statement as pg's `query` does, but without copying an options object property by property and without its own
 * promise: both together cost as much as sending.
 */
function send<Row>(client: pg.Client, name: string, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return new Promise((resolve, reject) => {
    // The statement determines the row's shape; each queries.ts declares it beside its SQL.
    const query: pg.Query & { name?: string } = new pg.Query(text, [...values], (error, result) =>
      error ? reject(error) : resolve(result.rows as Row[]),
    );
    query.name = name;
    client.query(query);
  });
}

/**
 * Sends the statements of one pass of the event loop in one write. Each write calls the system and may wake PostgreSQL up: a
 * write for each statement would take a sixth of a page's time. (Transactions do the same, but only up to the next tick, in
 * transaction.ts.)
 */
function batchWrites({ connection: { stream } }: pg.Client): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
