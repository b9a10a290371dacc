import type { Readable } from "node:stream";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import {
  codeOf,
  CommitOutcomeUnknown,
  DatabaseUnavailable,
  isOutage,
  isPartitionMoved,
  isRetryable,
  isStalePlan,
  nameConnectionError,
  sqlState,
} from "./errors.ts";
import type { Notifier } from "./notifier.ts";
import { prepareAgain, preparedName, type Statement, type StatementObserver } from "./statement.ts";

/*
 * Runs statements and transactions on connections of a pool. The connections are pipelined: a statement may be sent before
 * the results of earlier ones have arrived.
 */

/** Something that runs single statements. */
export interface QueryRunner {
  /** Runs one prepared statement and returns its rows. */
  query<Row>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

/** Something that runs statements: the database itself, or a transaction that is open in it. */
export interface Queryable extends QueryRunner {
  /**
   * Runs `work` in a transaction; inside a transaction it joins the open one. `work` runs again from the start, at most
   * `MAX_ATTEMPTS` times in all, after a deadlock, a serialization failure, a `TransactionConflict`, or when a row's
   * partition was created at the same moment. A prepared statement that the schema has outdated also repeats it, and does
   * not count. `work` must therefore change nothing but the database.
   */
  transaction<Result>(
    work: (tx: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result>;
}

export interface TransactionOptions {
  /**
   * Milliseconds that the transaction's statements wait for a lock before they fail with the code 55P03. Default: as long as
   * statements may take.
   */
  readonly lockTimeoutMs?: number;
}

/** An open transaction on a separate connection. */
export interface Transaction extends Queryable {
  /**
   * Sends a prepared statement without waiting for its result. Statements run in the order in which they are sent. If the
   * statement fails, the transaction fails too, at the latest when it commits.
   */
  send(statement: Statement, values?: readonly unknown[]): void;
  /** Runs text that cannot be prepared, such as `create temporary table`. */
  run(text: string): Promise<void>;
  /** Opens a stream into `copy … from stdin`. The rows are written when the stream has finished. */
  copyIn(text: string): Promise<NodeJS.WritableStream>;
  /** Opens the stream of `copy … to stdout`. From then on each statement of the transaction waits for the one before it. */
  copyOut(text: string): Promise<Readable>;
  /**
   * Notifies the listeners of a channel shortly after the commit (notifier.ts gives the reason). If the process dies in
   * between, the listeners are not notified.
   */
  notify(channel: string, payload: string): void;
  /** Lifts the time limit of the transaction's statements. That of requests is too short for thousands of rows. */
  liftStatementTimeout(): Promise<void>;
}

/**
 * Limits the attempts of a transaction. Too high: repeats work that keeps losing. Too low: fails requests that another
 * attempt would serve.
 */
const MAX_ATTEMPTS = 4;

interface TransactionContext {
  readonly pool: pg.Pool;
  readonly notifier: Notifier;
  readonly observer: StatementObserver | undefined;
}

/** Runs `work` in a transaction on a connection of the pool. */
export async function inTransaction<Result>(
  context: TransactionContext,
  work: (tx: Transaction) => Result | Promise<Result>,
  options: TransactionOptions = {},
): Promise<Result> {
  let attempt = 1;
  for (;;) {
    const client = await context.pool.connect().catch((error: unknown) => {
      throw nameConnectionError(error);
    });
    /** Why the connection is lost. The pool then closes it instead of giving it to another caller. */
    let broken: Error | undefined;
    const onError = (error: Error) => (broken = error);
    client.on("error", onError);
    const { tx, commit, causeOf, restore } = openTransaction(client, context, options);
    let isCommitting = false;
    try {
      const result = await work(tx);
      throwIfLost(broken);
      isCommitting = true;
      await commit();
      return result;
    } catch (thrown) {
      const error = causeOf(thrown);
      const named = nameConnectionError(error);
      if (named instanceof DatabaseUnavailable) broken = named;
      // A rollback that fails means the connection is gone; the server has rolled back by itself.
      else await client.query("rollback").catch((failure: unknown) => (broken = new Error(String(failure))));
      // A commit that took too long, as when PostgreSQL waits for a replica, may still take place later.
      if (isCommitting && (named instanceof DatabaseUnavailable || isOutage(named)))
        throw new CommitOutcomeUnknown("connection lost at commit", { cause: named });
      if (attempt >= MAX_ATTEMPTS || !isRetryable(error)) throw named;
      // A stale plan does not count as an attempt: each repetition prepares one more statement again, until all are.
      if (!isStalePlan(error)) attempt++;
    } finally {
      restore();
      client.off("error", onError);
      client.release(broken);
    }
  }
}

/** Throws before the commit if the connection is lost, so that the outcome is certain. @param broken why it is lost */
function throwIfLost(broken: Error | undefined): void {
  if (broken !== undefined) throw new DatabaseUnavailable("connection lost before the commit", { cause: broken });
}

/** Returns functions that change how the driver sends a connection's statements. `restore` ends all such changes. */
function driverSettings(client: pg.PoolClient) {
  // The types of pg do not declare it. The driver reads its time limit here for each statement; 0: none.
  const { connectionParameters } = client as unknown as { connectionParameters: { query_timeout: number } };
  const usualTimeout = connectionParameters.query_timeout;
  const usePipeline = (pipeline: boolean) => void Object.assign(client, { pipeline });
  return {
    usePipeline,
    liftTimeout: () => void (connectionParameters.query_timeout = 0),
    restore: () => {
      connectionParameters.query_timeout = usualTimeout;
      usePipeline(true);
    },
  };
}

/**
 * Begins a transaction in the same round trip as its first statement.
 * @returns the transaction, with functions that commit it, find the error because of which it failed, and end the changes of
 * the connection's settings
 */
function openTransaction(
  client: pg.PoolClient,
  { notifier, observer }: TransactionContext,
  { lockTimeoutMs }: TransactionOptions,
) {
  /** The results that nobody waits for before the commit. */
  const sent: Promise<unknown>[] = [];
  let failureOfSent: unknown;
  // Leaves a result to the commit, and notes the first failure.
  const keep = (result: Promise<unknown>) => {
    result.catch((error: unknown) => (failureOfSent ??= error));
    sent.push(result);
  };
  const notifications: (readonly [channel: string, payload: string])[] = [];
  const driver = driverSettings(client);
  const run = <Row>(statement: Statement, values?: readonly unknown[]) => {
    batchWrites(client);
    return runStatement<Row>(client, statement, values, observer);
  };
  const copy = async <Stream extends pg.Submittable>(stream: Stream): Promise<Stream> => {
    // The driver can copy only on a connection that sends one statement at a time.
    await Promise.all(sent);
    driver.usePipeline(false);
    return client.query(stream);
  };
  const tx: Transaction = {
    query: run,
    send: (statement, values) => keep(run(statement, values)),
    transaction: async (work) => work(tx),
    run: async (text) => {
      await client.query(text);
    },
    copyIn: async (text) => (await copy(copyFrom(text))).once("finish", () => driver.usePipeline(true)),
    copyOut: (text) => copy(copyTo(text)),
    notify: (channel, payload) => void notifications.push([channel, payload]),
    liftStatementTimeout: async () => {
      await client.query("set local statement_timeout = 0");
      driver.liftTimeout();
    },
  };
  batchWrites(client);
  keep(client.query("begin"));
  // Sent as a separate statement, because Citus repeats the text that contains a setting on other nodes.
  if (lockTimeoutMs !== undefined) keep(client.query(`set local lock_timeout = ${lockTimeoutMs}`));
  const commit = async () => {
    // The `commit` of a failed transaction is a silent rollback: the sent statements report the failure.
    await observed(observer, "commit", Promise.all([...sent, client.query("commit")]));
    for (const [channel, payload] of notifications) notifier.notify(channel, payload);
  };
  // After a statement of `send` has failed, the next statement fails too, with an error that does not name the cause.
  const causeOf = (error: unknown) =>
    codeOf(error) === sqlState.inFailedSqlTransaction ? (failureOfSent ?? error) : error;
  return { tx, commit, causeOf, restore: driver.restore };
}

/** Reports to the observer when a statement is sent, and when its result or its error has arrived. */
async function observed(observer: StatementObserver | undefined, name: string, sent: Promise<unknown>): Promise<void> {
  const ended = observer?.statementSent(name);
  try {
    await sent;
    ended?.();
  } catch (error) {
    ended?.(error);
    throw error;
  }
}

/**
 * Sends statements that follow each other without waiting in one write. Each write calls the system and wakes PostgreSQL up,
 * which would take a third of a transaction's time in this process.
 */
function batchWrites({ connection: { stream } }: pg.PoolClient): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  // `nextTick` lets the write include statements that are sent when already resolved promises continue.
  process.nextTick(() => stream.uncork());
}

/**
 * Runs a prepared statement on a connection, or on any connection of a pool. On a pool, runs it again when its plan was
 * stale or a row's partition was created at the same moment.
 */
export async function runStatement<Row>(
  client: pg.Pool | pg.ClientBase,
  statement: Statement,
  values?: readonly unknown[],
  observer?: StatementObserver,
  attempt = 1,
): Promise<Row[]> {
  const ended = observer?.statementSent(statement.name);
  const name = preparedName(statement);
  try {
    // The statement determines the row's shape; each queries.ts declares it beside its SQL.
    const result = await client.query({ name, text: statement.text, values: values ? [...values] : [] });
    ended?.();
    return result.rows as Row[];
  } catch (error) {
    ended?.(error);
    const isStale = isStalePlan(error);
    if (isStale) prepareAgain(statement, name);
    else if (!isPartitionMoved(error) || attempt >= MAX_ATTEMPTS) throw nameConnectionError(error);
    const isPool = "totalCount" in client;
    // On a single connection the transaction has failed with the statement, and must run again as a whole.
    if (!isPool) throw error;
    return runStatement(client, statement, values, observer, isStale ? attempt : attempt + 1);
  }
}
