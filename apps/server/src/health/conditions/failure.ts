import { codeOf, isDiskFull, isUnavailable, sqlState } from "../../storage/db/errors.ts";

/** What a failure means for the log. */
export interface Failure {
  /** Failures with the same key are one condition. */
  readonly key: string;
  /** Whether the cause stops other works too. Work that runs seldom must not keep such a condition from ending. */
  readonly isShared: boolean;
  /** The condition's name in the log. */
  readonly name: string;
  /** The message of the latest error. */
  readonly reason: string;
  /** The error in the first line: its message where the cause is known, all of it where it is not. */
  readonly logged: object;
  /** The messages at its beginning, each minute after that, and at its end. */
  readonly begins: string;
  readonly lasts: string;
  readonly ends: string;
}

type Messages = Pick<Failure, "begins" | "lasts" | "ends">;

const DATABASE_UNREACHABLE: Messages = {
  begins: "the database cannot be reached; retrying until it is back",
  lasts: "the database still cannot be reached",
  ends: "the database can be reached again",
};

const DISK_FULL: Messages = {
  begins: "the disk is full: nothing can be stored until there is room",
  lasts: "the disk is still full",
  ends: "there is disk space again",
};

const DATABASE_BUSY: Messages = {
  begins: "the database takes no more work at present; retrying soon",
  lasts: "the database still takes no more work",
  ends: "the database takes work again",
};

/** Errors of a database that is up, but has no connection or no time left. */
const BUSY: ReadonlySet<string> = new Set([sqlState.tooManyConnections, sqlState.queryCanceled]);

/**
 * An error whose cause is known and whose message says what to do, so that its stack adds nothing. Errors opt in with a
 * property `condition`, which is its name in the log.
 */
interface KnownError extends Error {
  readonly condition: string;
  /** Log messages where "… failed; retrying soon" is not what happened. */
  readonly sentences?: Messages;
}

function isKnown(error: unknown): error is KnownError {
  return error instanceof Error && "condition" in error && typeof error.condition === "string";
}

/** @param work what failed, worded to fit in a sentence */
export function failureOf(error: unknown, work: string): Failure {
  const reason = reasonOf(error);
  const known = (name: string, messages: Messages, key = name): Failure => ({
    key,
    isShared: key === name,
    name,
    reason,
    logged: { reason },
    ...messages,
  });
  if (isDiskFull(error)) return known("disk_full", DISK_FULL);
  if (BUSY.has(codeOf(error) ?? "")) return known("database_busy", DATABASE_BUSY);
  if (isUnavailable(error)) return known("database_unreachable", DATABASE_UNREACHABLE);
  const messages = {
    begins: `${work} failed; retrying soon`,
    lasts: `${work} still fails`,
    ends: `${work} works again`,
  };
  if (isKnown(error)) return known(error.condition, error.sentences ?? messages, `${error.condition}: ${work}`);
  const kind = error instanceof Error ? `${error.name} ${codeOf(error) ?? ""}` : typeof error;
  return { key: `${work}: ${kind}`, isShared: false, name: "unexpected", reason, logged: { err: error }, ...messages };
}

function reasonOf(error: unknown): string {
  // An attempt to reach several addresses has one reason for each, and no message.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
