import pg from "pg";
import { from as copyFrom } from "pg-copy-streams";
import { DatabaseUnavailable, isRetryable, nameConnectionError } from "./errors.ts";
import type { Statement } from "./statement.ts";

/** Something that runs statements: the database itself, or a transaction that is open in it. */
export interface Queryable {
  /** Runs one prepared statement and returns its rows. */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /**
   * Runs `work` in a transaction; inside one it joins the one that is open. After a deadlock, a serialization failure or a
   * `TransactionConflict`, `work` runs again from the start, `MAX_ATTEMPTS` times in all: it must change nothing but the
   * database.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}

/** An open transaction, on a connection of its own. */
export interface Transaction extends Queryable {
  /** Runs text that cannot be prepared, such as `create temporary table`. */
  run(text: string): Promise<void>;
  /** A stream into `copy … from stdin`; the rows are written when it has finished. */
  copyIn(text: string): NodeJS.WritableStream;
}

/** How many connections a pool has at present, and how many callers wait for one. */
export interface PoolUsage {
  readonly inUse: number;
  readonly idle: number;
  readonly waiting: number;
}

/** A pool of connections to PostgreSQL. */
export interface Database extends Queryable {
  readonly connectionString: string;
  readonly usage: () => PoolUsage;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly connectionString: string;
  /**
   * With fewer, requests queue behind one another; with many more, PostgreSQL spends its time switching between them.
   */
  readonly maxConnections?: number;
  /** To get a connection, a free one of the pool or a new one, before `DatabaseUnavailable` is thrown. */
  readonly connectTimeoutMs?: number;
  /** After it PostgreSQL cancels a statement; 0 for never. Imports run long, requests do not. */
  readonly statementTimeoutMs?: number;
  /** More settings of every connection, as in `-c enable_seqscan=off`. */
  readonly sessionOptions?: string;
  /** Called when an idle connection breaks: worth a log line; the pool opens a new one by itself. */
  readonly onConnectionLost?: (error: Error) => void;
}

/** Of a transaction. More repeat work that keeps losing; fewer fail requests that another try would serve. */
const MAX_ATTEMPTS = 4;
/** To get a connection, before the request is answered `unavailable`. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Opens a pool. It connects at the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    ...connectionSettings(options.connectionString, options.sessionOptions),
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    ...timeouts(options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS),
  });
  // pg's own error has no code, and holds the whole connection.
  pool.on("error", ({ message }) => {
    // An embedded PostgreSQL that stops right after the pool may still break a connection that is being closed.
    if (!pool.ending) options.onConnectionLost?.(new DatabaseUnavailable(message));
  });
  return {
    connectionString: options.connectionString,
    usage: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    query: (statement, values) => run(pool, statement, values),
    transaction: (work) => inTransaction(pool, work),
    close: () => closeWithin(pool.end()),
  };
}

/** Dates are cut at midnight UTC in our statements, whatever the server was set to. */
export const SESSION_OPTIONS = "-c TimeZone=UTC";

/** After it PostgreSQL cancels a statement, by default. */
export const STATEMENT_TIMEOUT_MS = 10_000;
/** For PostgreSQL to report that it cancelled a statement, before its connection counts as dead. */
const CANCEL_TIMEOUT_MS = 2_000;

/** Time limits of a connection's statements, on both sides, since a dead connection reports nothing. 0 for none. */
export function timeouts(statementTimeoutMs: number): pg.ClientConfig {
  if (statementTimeoutMs === 0) return { statement_timeout: 0 };
  return { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs + CANCEL_TIMEOUT_MS };
}

/** What every connection of ours has in common. */
export function connectionSettings(connectionString: string, sessionOptions?: string): pg.ClientConfig {
  return {
    connectionString: withStandardTls(connectionString),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: { getTypeParser },
    application_name: "bikeshare",
    options: sessionOptions === undefined ? SESSION_OPTIONS : `${SESSION_OPTIONS} ${sessionOptions}`,
  };
}

/** Gives `sslmode` the meaning that PostgreSQL's own programs give it; pg by itself takes `require` for `verify-full`. */
function withStandardTls(connectionString: string): string {
  const url = URL.parse(connectionString);
  if (url === null || !url.searchParams.has("sslmode")) return connectionString;
  // Node's own certificate authorities stand for the system's.
  if (url.searchParams.get("sslrootcert") === "system") url.searchParams.delete("sslrootcert");
  url.searchParams.set("uselibpqcompat", "true");
  return url.href;
}

const INT8 = 20;
const DATE = 1082;

/** A bigint of ours (a count, a number of items) always fits a double; pg would give a string. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  if (oid === INT8 && format !== "binary") return Number;
  // A date stays text, 2026-01-31; pg would make it midnight in the process's time zone.
  if (oid === DATE && format !== "binary") return String;
  // pg types its parsers as `any`.
  const parser: unknown =
    format === "binary" ? pg.types.getTypeParser(oid, "binary") : pg.types.getTypeParser(oid, "text");
  return parser as (value: string) => unknown;
}

async function run<Row>(client: pg.Pool | pg.ClientBase, { name, text }: Statement, values?: readonly unknown[]) {
  try {
    // The row's shape is what the statement says; each queries.ts writes it beside its SQL.
    const result = await client.query({ name, text, values: values ? [...values] : [] });
    return result.rows as Row[];
  } catch (error) {
    throw nameConnectionError(error);
  }
}

async function inTransaction<Result>(pool: pg.Pool, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const client = await pool.connect().catch((error: unknown) => {
      throw nameConnectionError(error);
    });
    let broken: Error | undefined;
    const onError = (error: Error) => (broken = error);
    client.on("error", onError);
    try {
      await client.query("begin");
      const result = await work(transactionOn(client));
      await client.query("commit");
      return result;
    } catch (error) {
      const named = nameConnectionError(error);
      if (named instanceof DatabaseUnavailable) broken = named;
      // A rollback that fails means the connection is gone; the server has rolled back by itself.
      else await client.query("rollback").catch((failure: unknown) => (broken = new Error(String(failure))));
      if (attempt >= MAX_ATTEMPTS || !isRetryable(error)) throw named;
    } finally {
      client.off("error", onError);
      client.release(broken);
    }
  }
}

function transactionOn(client: pg.PoolClient): Transaction {
  const tx: Transaction = {
    query: (statement, values) => run(client, statement, values),
    transaction: (work) => work(tx),
    run: async (text) => {
      await client.query(text);
    },
    copyIn: (text) => client.query(copyFrom(text)),
  };
  return tx;
}

/** For a connection to close. A dead one would delay a stop for ever. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Waits for connections to close, up to a timeout: the system closes what is left when the process ends. */
export async function closeWithin(closing: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
  });
  try {
    await Promise.race([closing.catch(() => undefined), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

const PING: Statement = { name: "ping", text: "select 1" };

/** Fails while the database cannot serve. */
export async function ping(db: Database): Promise<void> {
  await db.query(PING);
}
