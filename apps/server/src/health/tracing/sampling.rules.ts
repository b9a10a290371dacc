/* Decides which requests are traced: reads the caller's `traceparent` header, and limits the traces of each second. */

/** The caller's span that a request belongs to (W3C Trace Context). */
export interface RemoteParent {
  readonly traceId: string;
  readonly spanId: string;
  /** Whether the caller records its trace. */
  readonly isSampled: boolean;
}

/** Matches a valid header: its version is not `ff`, and neither id is all zeros. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads a `traceparent` header; undefined: there is none, or it is invalid. */
export function parseTraceparent(header: unknown): RemoteParent | undefined {
  if (typeof header !== "string") return undefined;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // The lowest bit of the flags says whether the caller records its trace.
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Decides which requests are recorded. */
export interface Sampling {
  /**
   * Decides whether to record a request, and counts it if so.
   * @param isAskedFor whether the caller records its trace, and so asks for this request to be recorded
   */
  isSampled(isAskedFor: boolean): boolean;
  /** Counts a trace that was chosen in another way. @returns whether it is within the limit of this second */
  isWithinBound(): boolean;
}

export interface SamplingOptions {
  /** The share of requests that is recorded, from 0 to 1. */
  readonly ratio: number;
  /** A number from 0 up to 1. */
  readonly random: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** Traces in any second that are recorded because their callers ask for it: enough to look into one's own request. */
const MAX_ASKED_FOR_PER_SECOND = 1;
/** Traces recorded in any second, whatever the ratio. Too high: costs processor time, and the queue drops spans. */
export const MAX_TRACES_PER_SECOND = 50;

/**
 * Decides by chance, within a limit for each second. Anybody may send a `traceparent` that asks for recording, with a trace
 * id of their choice: such requests have a small limit of their own.
 */
export function createSampling({ ratio, random, monotonic }: SamplingOptions): Sampling {
  let second = -1;
  let traces = 0;
  let askedFor = 0;
  const resetEachSecond = () => {
    const now = Math.floor(monotonic() / 1_000);
    if (now === second) return;
    second = now;
    traces = 0;
    askedFor = 0;
  };
  const isWithinBound = () => {
    resetEachSecond();
    return traces++ < MAX_TRACES_PER_SECOND;
  };
  return {
    isWithinBound,
    isSampled(isAskedFor) {
      const isChosen = random() < ratio;
      if (isChosen) return isWithinBound();
      resetEachSecond();
      // Checks the small limit before it counts the trace: a caller that asks for many must not use up the limit of traces
      // that are chosen by chance.
      if (!isAskedFor || askedFor >= MAX_ASKED_FOR_PER_SECOND) return false;
      askedFor++;
      return isWithinBound();
    },
  };
}
