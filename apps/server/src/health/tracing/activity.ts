import { AsyncLocalStorage } from "node:async_hooks";
import type { StatementObserver } from "../../storage/db/statement.ts";

/** A span of a trace that is recorded. Attributes hold neither secrets nor what callers sent. */
export interface Span {
  /** The trace that it belongs to, in hexadecimal. */
  readonly traceId: string;
  /** Begins a span of a statement or another step within this one. */
  child(name: string): Span;
  /** Ends the span. @param error the kind of failure; undefined: it succeeded */
  end(attributes?: SpanAttributes, error?: string): void;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/**
 * A request's use of the database so far. If requests share a transaction, its statements count for the request that began
 * it.
 */
export interface Activity {
  /** The request's span; undefined: the request is not recorded. */
  readonly span: Span | undefined;
  statements: number;
  /** Sum over all statements, also those that ran concurrently. */
  databaseMs: number;
  connectionWaitMs: number;
}

/** Attributes statements to the requests that run them. */
export interface ActivityTracker extends StatementObserver {
  /** Begins an activity, to which the asynchronous work that follows belongs. */
  begin(span: Span | undefined): Activity;
  /** The activity of the work that runs now; undefined: it belongs to no request. */
  current(): Activity | undefined;
  /** Sets the function that counts waits for connections. */
  countWaits(count: (pool: string, seconds: number) => void): void;
}

export function createActivityTracker(): ActivityTracker {
  const current = new AsyncLocalStorage<Activity>();
  let countWait: ((pool: string, seconds: number) => void) | undefined;
  return {
    begin(span) {
      const activity: Activity = { span, statements: 0, databaseMs: 0, connectionWaitMs: 0 };
      current.enterWith(activity);
      return activity;
    },
    current: () => current.getStore(),
    countWaits(count) {
      countWait = count;
    },
    statementSent(name) {
      const activity = current.getStore();
      if (activity === undefined) return ignore;
      const begun = performance.now();
      const span = activity.span?.child(name);
      return (error) => {
        activity.statements++;
        activity.databaseMs += performance.now() - begun;
        if (span === undefined) return;
        const failure = error === undefined ? undefined : kindOf(error);
        span.end({ "db.system.name": "postgresql", "db.query.summary": name }, failure);
      };
    },
    connectionAwaited(pool) {
      const activity = current.getStore();
      if (activity === undefined && countWait === undefined) return undefined;
      const begun = performance.now();
      return () => {
        const waitedMs = performance.now() - begun;
        countWait?.(pool, waitedMs / 1_000);
        if (activity !== undefined) activity.connectionWaitMs += waitedMs;
      };
    },
  };
}

function ignore(): void {
  // Deliberately empty: background work belongs to no request.
}

/** Returns the code or name of an error. Its message is left out, because it may contain values. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
