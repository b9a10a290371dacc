/*
 * Classifies errors of PostgreSQL and of its connections: whether the database is unavailable, whether the statement may
 * have run, and whether it may be repeated.
 */

/** The PostgreSQL error codes that our code distinguishes, by their names in PostgreSQL's manual. */
export const sqlState = {
  featureNotSupported: "0A000",
  uniqueViolation: "23505",
  checkViolation: "23514",
  serializationFailure: "40001",
  deadlockDetected: "40P01",
  readOnlySqlTransaction: "25006",
  inFailedSqlTransaction: "25P02",
  idleInTransactionSessionTimeout: "25P03",
  diskFull: "53100",
  outOfMemory: "53200",
  tooManyConnections: "53300",
  adminShutdown: "57P01",
  crashShutdown: "57P02",
  cannotConnectNow: "57P03",
  queryCanceled: "57014",
  ioError: "58030",
  undefinedTable: "42P01",
  undefinedColumn: "42703",
  invalidCatalogName: "3D000",
  invalidPassword: "28P01",
  invalidAuthorization: "28000",
  invalidSchemaName: "3F000",
  insufficientPrivilege: "42501",
  objectNotInPrerequisiteState: "55000",
  lockNotAvailable: "55P03",
  characterNotInRepertoire: "22021",
  untranslatableCharacter: "22P05",
} as const;

/** Codes of PostgreSQL and of the operating system that mean that the database cannot serve at present. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  sqlState.readOnlySqlTransaction,
  // This process was frozen in a transaction, which PostgreSQL has rolled back.
  sqlState.idleInTransactionSessionTimeout,
  sqlState.diskFull,
  sqlState.outOfMemory,
  sqlState.tooManyConnections,
  sqlState.adminShutdown,
  sqlState.crashShutdown,
  sqlState.cannotConnectNow,
  sqlState.queryCanceled,
  sqlState.ioError,
  // The database does not exist or refuses connections: an operator is working on it.
  sqlState.invalidCatalogName,
  sqlState.objectNotInPrerequisiteState,
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENOSPC",
  "EDQUOT",
]);

const RETRYABLE: ReadonlySet<string> = new Set([sqlState.serializationFailure, sqlState.deadlockDetected]);

/** The connection to the database broke or brought no answer in time, or none was available in time. */
export class DatabaseUnavailable extends Error {
  override readonly name: string = "DatabaseUnavailable";
}

/**
 * The connection broke, or the time limit passed, after a commit was sent and before it was answered: either the whole
 * transaction is committed, or nothing.
 */
export class CommitOutcomeUnknown extends DatabaseUnavailable {
  override readonly name = "CommitOutcomeUnknown";
}

/**
 * Data on which a transaction based a decision changed while the transaction ran. Throw it inside a transaction to restart
 * the transaction.
 */
export class TransactionConflict extends Error {
  override readonly name = "TransactionConflict";
}

/** Returns the code of an error, such as PostgreSQL, the operating system or Node gives; undefined: it has none. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Tells whether a stored value cannot be read: it is invalid (class 22), or the disk has damaged it (XX001, XX002). */
export function isDataError(error: unknown): boolean {
  return /^(22|XX00[12])/.test(codeOf(error) ?? "");
}

/**
 * Functions of Citus that raise an "internal error" when Citus has lost the node that has a statement's rows. The
 * transaction has not taken place.
 */
const MACHINE_LOST: ReadonlySet<string> = new Set(["MarkRemoteTransactionFailed", "CheckRemoteTransactionsHealth"]);

/**
 * Tells whether an error means that the database cannot serve at present (unreachable, starting, full, read-only, too slow),
 * rather than that our statement is wrong.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return true;
  // Only a connection attempt to several addresses throws an `AggregateError`.
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  const code = codeOf(error);
  // Class 08: errors of the connection.
  return (
    code !== undefined && (UNAVAILABLE.has(code) || code.startsWith("08") || MACHINE_LOST.has(routineOf(error) ?? ""))
  );
}

/** Returns the function of the server that has raised an error. */
function routineOf(error: unknown): string | undefined {
  if (!(error instanceof Error && "routine" in error)) return undefined;
  return typeof error.routine === "string" ? error.routine : undefined;
}

/** Errors of a connection attempt, and of a server that rejects writes: the work has not begun. */
const NEVER_RUN: ReadonlySet<string> = new Set([
  sqlState.cannotConnectNow,
  sqlState.readOnlySqlTransaction,
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
]);

/**
 * Codes that mean that the server is unreachable, restarting, or read-only, as in a failover. The work may have begun,
 * except for `NEVER_RUN`.
 */
const SERVER_GONE: ReadonlySet<string> = new Set([
  ...NEVER_RUN,
  sqlState.adminShutdown,
  sqlState.crashShutdown,
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
]);

/**
 * Tells whether an error means that the database is unreachable, restarting or read-only, rather than slow or full. It may
 * be back soon.
 */
export function isOutage(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  // A time-out may also mean that the database is slow.
  if (error instanceof DatabaseUnavailable) return !/timeout/i.test(error.message);
  return SERVER_GONE.has(codeOf(error) ?? "");
}

/** Tells whether the error of an outage proves that the statement had no effect. */
export function wasNeverRun(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(wasNeverRun);
  return NEVER_RUN.has(codeOf(error) ?? "");
}

/** Tells whether an error means that the database's disk, or ours, is full. */
export function isDiskFull(error: unknown): boolean {
  const code = codeOf(error);
  return code === sqlState.diskFull || code === "ENOSPC" || code === "EDQUOT";
}

/**
 * Tells whether PostgreSQL has refused a text because it contains NUL, the only character that PostgreSQL cannot store. Only
 * a caller can have sent it.
 */
export function isRefusedNul(error: unknown): boolean {
  const code = codeOf(error);
  return code === sqlState.characterNotInRepertoire || code === sqlState.untranslatableCharacter;
}

/** Turns pg's connection errors, which have a text but no code, into `DatabaseUnavailable`. */
export function nameConnectionError(error: unknown): unknown {
  if (!(error instanceof Error) || isUnavailable(error) || "code" in error) return error;
  const connectionLost = /connection|timeout|terminated|closed|not queryable/i.test(error.message);
  return connectionLost ? new DatabaseUnavailable(error.message, { cause: error }) : error;
}

/**
 * Tells whether a prepared statement was refused because the schema has changed since it was prepared: `cached plan must not
 * change result type`, in any language of the server. The statement runs after it is prepared again.
 */
export function isStalePlan(error: unknown): boolean {
  if (codeOf(error) !== sqlState.featureNotSupported) return false;
  return routineOf(error) === "RevalidateCachedQuery";
}

/** Functions of the server that find a row's partition, or check whether the default partition may still take a row. */
const FINDS_PARTITION: ReadonlySet<string> = new Set(["ExecFindPartition", "ExecPartitionCheckEmitError"]);

/**
 * Tells whether an insert failed because a partition for the row was created at the same moment: the row was on its way to
 * the default partition, which may no longer take rows of that day. Repeated, the statement finds the new partition.
 * PostgreSQL uses the code of a violated check for this, so the function that raised the error decides. Citus reports a
 * function of its own, and then the message decides.
 */
export function isPartitionMoved(error: unknown): boolean {
  if (codeOf(error) !== sqlState.checkViolation) return false;
  const routine = routineOf(error) ?? "";
  if (routine === "ReportResultError") return error instanceof Error && /\bpartition\b/.test(error.message);
  return FINDS_PARTITION.has(routine);
}

/** Tells whether a transaction that failed this way changed nothing and may succeed when it is run again. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof TransactionConflict || isStalePlan(error) || isPartitionMoved(error)) return true;
  const code = codeOf(error);
  return code !== undefined && RETRYABLE.has(code);
}
