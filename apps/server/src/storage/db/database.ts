import pg from "pg";
import { DatabaseUnavailable } from "./errors.ts";
import { createNotifier } from "./notifier.ts";
import { ReportingClient, requirePrimary } from "./primary.ts";
import type { Statement, StatementObserver } from "./statement.ts";
import { inTransaction, type Queryable, runStatement } from "./transaction.ts";

/*
 * Opens pools of connections to PostgreSQL. All our connections share the settings and the parsers of values in this file. A
 * watch ends connections that are dead although nobody closed them (`SilenceWatch`).
 */

export { type Queryable, type QueryRunner, type Transaction } from "./transaction.ts";

/** How many connections of a pool are in use or idle, and how many callers wait for one. */
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

/** How a pool connects, how long statements may run, and who observes statements and lost connections. */
export interface DatabaseOptions {
  readonly connectionString: string;
  /** The name of the pool in metrics. Default: `other`. */
  readonly name?: string;
  readonly observer?: StatementObserver | undefined;
  /**
   * Limits the connections. Too low: requests queue behind one another. Too high: PostgreSQL spends its time switching
   * between connections.
   */
  readonly maxConnections?: number;
  /** Milliseconds to get a connection, a free one of the pool or a new one, before `DatabaseUnavailable` is thrown. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds after which PostgreSQL cancels a statement; 0: never. Imports need longer than requests. */
  readonly statementTimeoutMs?: number;
  /** Further settings of every connection, as in `-c enable_seqscan=off`. */
  readonly sessionOptions?: string;
  /** Whether a standby is accepted. Otherwise a connection to a standby is closed, and the next statement connects again. */
  readonly mayBeStandby?: boolean;
  /** Called when an idle connection breaks, to log it. The pool opens a new one by itself. */
  readonly onConnectionLost?: (error: Error) => void;
}

/** Milliseconds to get a connection before the request is answered `unavailable`. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Opens a pool. It connects at the first statement. */
export function openDatabase(options: DatabaseOptions): Database {
  const { observer, name = "other" } = options;
  const pool = new ObservedPool(name, observer, {
    ...connectionSettings(options.connectionString, options.sessionOptions),
    max: options.maxConnections ?? 10,
    // A transaction has a connection for itself. It sends a statement without waiting when it needs no rows of the last one.
    pipeline: true,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    ...timeouts(options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS),
    // The pool awaits the promise of `onConnect`, though its types do not say so.
    // oxlint-disable-next-line no-misused-promises
    ...(options.mayBeStandby !== true && { Client: ReportingClient, onConnect: requirePrimary }),
  });
  // Reports a new error, because pg's own error has no code and refers to the whole connection object.
  pool.on("error", ({ message }) => {
    // An embedded PostgreSQL that stops right after the pool may still break a connection that is being closed.
    if (!pool.ending) options.onConnectionLost?.(new DatabaseUnavailable(message));
  });
  const silence = watchConnections(options.connectionString);
  pool.on("connect", (client) => silence.add(client));
  const query = <Row>(statement: Statement, values?: readonly unknown[]) =>
    runStatement<Row>(pool, statement, values, observer);
  const notifier = createNotifier(query);
  return {
    connectionString: options.connectionString,
    usage: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      // pg hands a free connection over in the next pass of the event loop. The caller that gets it is not counted here.
      waiting: Math.max(0, pool.waitingCount - pool.idleCount),
    }),
    query,
    transaction: (work, transactionOptions) => inTransaction({ pool, notifier, observer }, work, transactionOptions),
    close: async () => {
      await closeWithin(notifier.close());
      await closeWithin(pool.end());
      silence.close();
    },
  };
}

type ConnectCallback = Parameters<pg.Pool["connect"]>[0];

/** A pool that reports how long callers wait for connections, also when `query` takes one. */
class ObservedPool extends pg.Pool {
  readonly #name: string;
  readonly #observer: StatementObserver | undefined;

  constructor(name: string, observer: StatementObserver | undefined, config: pg.PoolConfig) {
    super(config);
    this.#name = name;
    this.#observer = observer;
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    const ended = this.#observer?.connectionAwaited(this.#name);
    if (callback === undefined) {
      const connecting = super.connect();
      return ended === undefined ? connecting : connecting.finally(ended);
    }
    super.connect((error, client, release) => {
      ended?.();
      callback(error, client, release);
    });
    return undefined;
  }
}

/**
 * Overrides settings of the server and the database: our statements take days in UTC, and JSON that the database makes must
 * have every digit of a coordinate.
 */
const SESSION_OPTIONS = "-c TimeZone=UTC -c extra_float_digits=1";

/** Milliseconds after which PostgreSQL cancels a statement, by default. */
export const STATEMENT_TIMEOUT_MS = 10_000;
/** Time for PostgreSQL to report a cancelled statement. Without a report the connection counts as dead. */
const CANCEL_TIMEOUT_MS = 2_000;

/**
 * The least time for which a transaction may be idle. Between two statements our transactions wait for nothing, and a busy
 * machine delays them by less than this.
 */
const MIN_IDLE_TRANSACTION_MS = 5_000;

/**
 * Returns how long a transaction may be idle between two statements before PostgreSQL rolls it back and ends its
 * connection. The locks of a process that hangs or is frozen are thus released before other processes give up waiting for
 * them. If the process resumes soon, the outage gate runs the transaction again; otherwise the transaction fails.
 */
function idleTransactionTimeout(statementTimeoutMs: number): number {
  return Math.max(MIN_IDLE_TRANSACTION_MS, statementTimeoutMs / 2);
}

/** Time limits of statements, in PostgreSQL and in the driver, because a dead connection reports nothing. 0: no limit. */
export function timeouts(statementTimeoutMs: number): pg.ClientConfig {
  if (statementTimeoutMs === 0) return { statement_timeout: 0 };
  return {
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + CANCEL_TIMEOUT_MS,
    idle_in_transaction_session_timeout: idleTransactionTimeout(statementTimeoutMs),
  };
}

/**
 * Milliseconds of silence before the operating system sends a TCP keep-alive, because firewalls forget connections that are
 * silent for minutes. The system's own default is two hours.
 */
const KEEP_ALIVE_DELAY_MS = 10_000;

/** Returns the settings that all our connections share. */
export function connectionSettings(connectionString: string, sessionOptions?: string): pg.ClientConfig {
  return {
    connectionString: withStandardTls(connectionString),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
    types: { getTypeParser },
    application_name: "bikeshare",
    options: sessionOptions === undefined ? SESSION_OPTIONS : `${SESSION_OPTIONS} ${sessionOptions}`,
  };
}

/** Watches connections to a database for those that go dead without being closed. */
export function watchConnections(connectionString: string): SilenceWatch {
  return watchSilence(() => createQuestionClient(connectionString, QUESTION_TIMEOUT_MS));
}

/** Returns a client, not yet connected, for one query. @param timeoutMs limits the connecting, and then the query */
export function createQuestionClient(connectionString: string, timeoutMs: number): pg.Client {
  return new pg.Client({
    ...connectionSettings(connectionString),
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
  });
}

/** Makes pg treat `sslmode` as PostgreSQL's own programs do. By default pg treats `require` as `verify-full`. */
function withStandardTls(connectionString: string): string {
  const url = URL.parse(connectionString);
  if (url === null || !url.searchParams.has("sslmode")) return connectionString;
  // Uses Node's certificate authorities instead of the system's.
  if (url.searchParams.get("sslrootcert") === "system") url.searchParams.delete("sslrootcert");
  url.searchParams.set("uselibpqcompat", "true");
  return url.href;
}

/** PostgreSQL's numbers (oids) of types that are parsed here. */
const INT8 = 20;
const DATE = 1082;
const TIMESTAMPTZ = 1184;

/** Returns the parser of a type. Bigints become numbers, not strings as in pg: all our bigints fit a double. */
function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  if (oid === INT8 && format !== "binary") return Number;
  // A date stays text, 2026-01-31; pg would make it midnight in the process's time zone.
  if (oid === DATE && format !== "binary") return String;
  if (oid === TIMESTAMPTZ && format !== "binary") return parseInstant;
  return driverParser(oid, format);
}

/** Returns the driver's own parser of a type. */
function driverParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  // pg types its parsers as `any`.
  const parser: unknown =
    format === "binary" ? pg.types.getTypeParser(oid, "binary") : pg.types.getTypeParser(oid, "text");
  return parser as (value: string) => unknown;
}

/**
 * An instant as PostgreSQL formats it in our sessions, whose time zone is UTC: from the year 100 to 9999. `Date.UTC` takes
 * the years before 100 for years after 1900.
 */
const UTC_INSTANT = /^(?!00)\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00$/;

/** Parses an instant in a third of the time that the driver's parser takes, which handles every format and time zone. */
function parseInstant(text: string): unknown {
  if (!UTC_INSTANT.test(text)) return driverParser(TIMESTAMPTZ)(text);
  /** Returns the number that the two digits at an index write. */
  const pair = (at: number) => (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO;
  // The digits between the point and `+00`. PostgreSQL leaves out zeros at the end.
  const fraction = text.slice(FRACTION_AT, -3);
  const milliseconds = fraction === "" ? 0 : Number(fraction.padEnd(3, "0").slice(0, 3));
  const year = pair(0) * 100 + pair(2);
  return new Date(Date.UTC(year, pair(5) - 1, pair(8), pair(11), pair(14), pair(17), milliseconds));
}

/** The code of the digit 0, and where the digits of a fraction of a second begin. */
const ZERO = "0".charCodeAt(0);
const FRACTION_AT = "2026-01-31 00:00:00.".length;

/** Time for a connection to close. A dead connection would delay the stop of the process forever. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Waits for connections to close, up to a timeout. The system closes the remaining ones when the process ends. */
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

/** Throws while the database cannot serve. */
export async function ping(db: Database): Promise<void> {
  await db.query(PING);
}

/**
 * Finds connections that are dead although nobody closed them, as after a firewall has forgotten them or a machine has lost
 * its power. Otherwise the operating system would notice after a quarter of an hour, and the statement's time limit after
 * twelve seconds.
 *
 * A connection that has been silent for a while although a statement is under way is looked up in `pg_stat_activity`, over
 * a new connection. If PostgreSQL runs no statement on the silent connection, the statement or its result was lost, and the
 * connection is ended.
 */
interface SilenceWatch {
  /** Watches a connection until it ends. */
  add(client: pg.Client | pg.PoolClient): void;
  close(): void;
}

/** Milliseconds between two checks. Too low: only checks more often. Too high: finds a dead connection later. */
const CHECK_INTERVAL_MS = 500;
/** Milliseconds of silence before PostgreSQL is queried. Too low: queries about statements that are merely slow. */
const SILENCE_MS = 1_500;
/** Time limit of that query. If the database does not answer in time, nothing is known about the connections. */
const QUESTION_TIMEOUT_MS = 2_500;
/** Answers in a row that must say that a connection is lost. At the first one, the result may still be on its way. */
const ANSWERS_NEEDED = 2;

/** A connection that is watched. */
interface Watched {
  readonly client: pg.Client | pg.PoolClient;
  /** The bytes that it had read at the last check. */
  bytesRead: number;
  /** When a check last found that it was idle or had read more. */
  since: number;
  /** Answers in a row that said that the connection is lost. */
  lostAnswers: number;
}

/** Properties of a client that pg's types omit. */
interface ClientState {
  readonly processID: number | null;
  /** False while a statement is under way. */
  readonly readyForQuery: boolean;
}

/** @param createClient creates a connection for one query, with its timeouts */
function watchSilence(createClient: () => pg.Client): SilenceWatch {
  const watched = new Set<Watched>();
  let isAsking = false;
  const check = () => {
    const now = performance.now();
    const silent = [...watched].filter((each) => isSilent(each, now));
    if (silent.length === 0 || isAsking) return;
    isAsking = true;
    askAbout(silent, createClient)
      .catch(() => undefined)
      .finally(() => (isAsking = false));
  };
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref();
  return {
    add(client) {
      const each = { client, bytesRead: 0, since: performance.now(), lostAnswers: 0 };
      watched.add(each);
      client.once("end", () => watched.delete(each));
    },
    close: () => clearInterval(timer),
  };
}

/** Notes what a connection has read since the last check, and tells whether it has been silent for too long. */
function isSilent(each: Watched, now: number): boolean {
  const bytesRead = bytesReadOf(each.client);
  if (stateOf(each.client).readyForQuery || bytesRead !== each.bytesRead) {
    Object.assign(each, { bytesRead, since: now, lostAnswers: 0 });
  }
  return now - each.since >= SILENCE_MS;
}

/** Ends the silent connections on which PostgreSQL runs no statement. */
async function askAbout(silent: readonly Watched[], createClient: () => pg.Client): Promise<void> {
  const asked = silent.map((each) => ({ each, bytesRead: bytesReadOf(each.client) }));
  const activity = await readActivity(
    createClient(),
    silent.map(({ client }) => stateOf(client).processID ?? 0),
  );
  for (const { each, bytesRead } of asked) {
    const { client } = each;
    const { readyForQuery, processID } = stateOf(client);
    // The statement has ended, or bytes have arrived, while PostgreSQL was asked: the connection is alive.
    if (readyForQuery || bytesReadOf(client) !== bytesRead) continue;
    each.lostAnswers = activity.isLost(processID ?? 0) ? each.lostAnswers + 1 : 0;
    if (each.lostAnswers < ANSWERS_NEEDED) continue;
    client.connection.stream.destroy(
      new DatabaseUnavailable("the connection to the database went dead without a word"),
    );
  }
}

/** Asks PostgreSQL which of its processes wait for a statement. @param processIds those of the silent connections */
async function readActivity(client: pg.Client, processIds: readonly number[]) {
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ pid: number; state: string | null }>(
      "select pid, case when pid = pg_backend_pid() then 'self' else state end as state from pg_stat_activity where pid = any($1) or pid = pg_backend_pid()",
      [processIds],
    );
    const states = new Map(rows.map(({ pid, state }) => [pid, state]));
    // A pooler (such as PgBouncer) reports process ids of its own, which `pg_stat_activity` does not list.
    const isDirect = states.get(stateOf(client).processID ?? 0) === "self";
    return {
      isLost: (processId: number) => {
        const state = states.get(processId);
        // PostgreSQL has no such process. Behind a pooler that says nothing.
        if (state === undefined) return isDirect;
        // PostgreSQL waits for a statement while we wait for a result.
        return state === "idle" || state?.startsWith("idle in transaction") === true;
      },
    };
  } finally {
    client.end().catch(() => undefined);
  }
}

/** Returns a client with the properties that its type omits. */
function stateOf(client: pg.Client | pg.PoolClient): ClientState {
  return client as unknown as ClientState;
}

/** Returns how many bytes a connection has read. A stream of another kind than a socket counts none. */
function bytesReadOf({ connection: { stream } }: pg.Client | pg.PoolClient): number {
  return "bytesRead" in stream ? Number(stream.bytesRead) : 0;
}
