import type { Activity } from "../health/tracing/activity.ts";

/** Logs requests that took long, with where their time went. */
export interface SlowRequests {
  isSlow(ms: number): boolean;
  log(request: SlowRequest): void;
}

interface SlowRequest {
  readonly requestId: string;
  readonly interface: string;
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  readonly activity: Activity | undefined;
}

export interface SlowRequestsOptions {
  /** From how many milliseconds on a request is slow. */
  readonly slowAfterMs: number;
  readonly log: { warn(detail: object, message: string): void };
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** Lines in any second. When the database is slow, every request is: more lines would only fill the disk. */
const MAX_LINES_PER_SECOND = 5;

export function createSlowRequests({ slowAfterMs, log, monotonic }: SlowRequestsOptions): SlowRequests {
  let second = -1;
  let lines = 0;
  let omitted = 0;
  return {
    isSlow: (ms) => ms >= slowAfterMs,
    log({ activity, ms, ...request }) {
      const now = Math.floor(monotonic() / 1_000);
      if (now !== second) lines = 0;
      second = now;
      if (lines >= MAX_LINES_PER_SECOND) {
        omitted++;
        return;
      }
      lines++;
      log.warn(
        { ...request, ms: round(ms), ...(activity && spentOn(activity, ms)), ...(omitted > 0 && { omitted }) },
        "slow request",
      );
      omitted = 0;
    },
  };
}

/** Where the time of a request went. What is neither database nor waiting is this process, or a caller that reads slowly. */
function spentOn({ statements, databaseMs, connectionWaitMs, span }: Activity, ms: number): object {
  return {
    connection_wait_ms: round(connectionWaitMs),
    database_ms: round(databaseMs),
    other_ms: round(Math.max(0, ms - connectionWaitMs - databaseMs)),
    statements,
    ...(span && { trace_id: span.traceId }),
  };
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
