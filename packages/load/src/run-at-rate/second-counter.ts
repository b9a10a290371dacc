import type { RecordableHistogram } from "node:perf_hooks";
import { createLatencyHistogram, recordMs } from "./recorder.ts";
import type { RequestTiming } from "./stream.ts";

/** The counts of one worker in one second of the run. */
export interface SecondCount {
  readonly second: number;
  readonly started: number;
  readonly answered: number;
  readonly unexpected: number;
  /** Requests that were sent or queued and not answered at the end of the second. */
  readonly pending: number;
  readonly response: RecordableHistogram;
  readonly lag: RecordableHistogram;
}

/** Counts what happens in the present second. */
export interface SecondCounter {
  started(): void;
  answered(timing: RequestTiming, isExpected: boolean): void;
  /** Returns the counts of the second, and starts the next second at 0. */
  take(second: number, pending: number): SecondCount;
}

export function createSecondCounter(): SecondCounter {
  let counts = emptyCounts();
  return {
    started: () => void counts.started++,
    answered({ response, lag }, isExpected) {
      counts.answered++;
      if (!isExpected) counts.unexpected++;
      recordMs(counts.response, response);
      recordMs(counts.lag, lag);
    },
    take(second, pending) {
      const taken = { second, pending, ...counts };
      counts = emptyCounts();
      return taken;
    },
  };
}

function emptyCounts() {
  // Two significant figures, because a worker sends these histograms every second.
  return {
    started: 0,
    answered: 0,
    unexpected: 0,
    response: createLatencyHistogram(2),
    lag: createLatencyHistogram(2),
  };
}
