import { AsyncLocalStorage } from "node:async_hooks";
import type { StatementObserver } from "../../storage/db/statement.ts";

/** A span of a trace that is recorded. Attributes hold neither secrets nor what callers sent. */
export interface Span {
  /** The trace that it belongs to, in hexadecimal. */
  readonly traceId: string;
  /** Begins a span of a statement or another step within this one. */
  child(name: string): Span;
  /** Ends it. @param error what kind of failure it ended with; undefined: it succeeded */
  end(attributes?: SpanAttributes, error?: string): void;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/**
 * What a request has asked of the database so far. The statements of a transaction that requests share count for the one
 * that began it.
 */
export interface Activity {
  /** Where its trace is recorded; undefined: it is not. */
  readonly span: Span | undefined;
  statements: number;
  /** Together: statements that run side by side count each. */
  databaseMs: number;
  connectionWaitMs: number;
}

/** Attributes what is asked of the database to the request that asks. */
export interface ActivityTracker extends StatementObserver {
  /** What the asynchronous work that follows does is this activity's. */
  begin(span: Span | undefined): Activity;
  /** The activity of the work that runs now; undefined: it belongs to no request. */
  current(): Activity | undefined;
  /** Says who counts how long connections were waited for. */
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
  // Nobody asks to know: background work counts for no request.
}

/** The code or name of an error: its message may hold values. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
