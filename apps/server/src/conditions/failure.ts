import { codeOf, isDiskFull, isUnavailable, sqlState } from "../db/errors.ts";

/** What a failure means for the log. */
export interface Failure {
  /** Failures of one key are one condition. */
  readonly key: string;
  /** It stops other works too: one of them that comes round seldom must not keep it from being over. */
  readonly isShared: boolean;
  /** The condition's name, for whoever searches the log. */
  readonly name: string;
  /** Why, in the words of the last error. */
  readonly reason: string;
  /** What the first line says of the error: its message where the cause is known, all of it where it is not. */
  readonly logged: object;
  /** The messages at its beginning, each minute after, and at its end. */
  readonly begins: string;
  readonly lasts: string;
  readonly ends: string;
}

type Messages = Pick<Failure, "begins" | "lasts" | "ends">;

const DATABASE_UNREACHABLE: Messages = {
  begins: "the database cannot be reached; tried again until it is back",
  lasts: "the database still cannot be reached",
  ends: "the database can be reached again",
};

const DISK_FULL: Messages = {
  begins: "the disk is full: nothing can be stored until there is room",
  lasts: "the disk is still full",
  ends: "nothing fails for want of disk space any more",
};

const DATABASE_BUSY: Messages = {
  begins: "the database takes no more work at present; tried again soon",
  lasts: "the database still takes no more work",
  ends: "the database takes work again",
};

/** Answers of a database that is there and has no time or no connection to spare. */
const BUSY: ReadonlySet<string> = new Set([sqlState.tooManyConnections, sqlState.queryCanceled]);

/**
 * An error whose cause is known and whose message says what to do, so that its stack would tell nobody more. Errors opt
 * in by a property `condition`: the name under which the log has it.
 */
interface KnownError extends Error {
  readonly condition: string;
  /** What the log says where "… failed; tried again soon" is not what happened. */
  readonly sentences?: Messages;
}

function isKnown(error: unknown): error is KnownError {
  return error instanceof Error && "condition" in error && typeof error.condition === "string";
}

/** @param work what failed, as it stands in a sentence */
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
    begins: `${work} failed; tried again soon`,
    lasts: `${work} still fails`,
    ends: `${work} works again`,
  };
  if (isKnown(error)) return known(error.condition, error.sentences ?? messages, `${error.condition}: ${work}`);
  const kind = error instanceof Error ? `${error.name} ${codeOf(error) ?? ""}` : typeof error;
  return { key: `${work}: ${kind}`, isShared: false, name: "unexpected", reason, logged: { err: error }, ...messages };
}

function reasonOf(error: unknown): string {
  // An attempt at several addresses has the reasons in its parts, and no message.
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
