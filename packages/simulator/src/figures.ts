import type { BatchResult } from "@bikeshare/contract";
import type { Answer, Command } from "./operator-client.ts";

/** The counts of a simulation so far. */
export interface Figures {
  readonly riding: number;
  readonly started: number;
  readonly completed: number;
  readonly cancelled: number;
  /** Rides started per minute of the wall clock, over about the last minute, or since the start if that is less. */
  readonly perMinute: number;
  readonly requests: number;
  /** Requests that had to be sent again, or were rejected as a whole. */
  readonly retries: number;
  /** Commands that the service answered with an error. */
  readonly failures: number;
  /** Commands that are not acknowledged yet. */
  readonly waiting: number;
  /** Reasons for failures and retries, with how often each occurred. */
  readonly reasons: ReadonlyMap<string, number>;
}

/** Maximum distinct reasons that are counted. Too high: messages that contain ids fill the memory. */
const MAX_REASONS = 50;
const RATE_WINDOW_MS = 60_000;

/** Counts what a simulation does. @param startedAt milliseconds since 1970 */
export function createFigures(startedAt: number) {
  const counts = { started: 0, completed: 0, cancelled: 0, requests: 0, retries: 0, failures: 0 };
  const reasons = new Map<string, number>();
  const samples: { at: number; started: number }[] = [{ at: startedAt, started: 0 }];
  const countReason = (reason: string) => {
    if (reasons.has(reason) || reasons.size < MAX_REASONS) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  };
  return {
    answered({ path }: Command, { outcome, error }: BatchResult) {
      if (outcome === "failed") {
        counts.failures++;
        countReason(`${path}: ${error?.error ?? ""} ${error?.message ?? ""}`);
      }
      if (path === "rides/start" && outcome === "created") counts.started++;
      if (path === "rides/end" && outcome === "updated") counts.completed++;
      if (path === "rides/cancel" && outcome === "updated") counts.cancelled++;
    },
    requested(outcome: Answer["kind"], reason: string) {
      counts.requests++;
      if (outcome === "done") return;
      counts.retries++;
      countReason(reason);
    },
    read(riding: number, waiting: number, now: number): Figures {
      samples.push({ at: now, started: counts.started });
      // The first sample that stays is the newest of those that are at least `RATE_WINDOW_MS` old.
      while (samples.length > 2 && (samples[1]?.at ?? now) <= now - RATE_WINDOW_MS) samples.shift();
      const since = samples[0] ?? { at: now, started: 0 };
      // At least a second: otherwise the first readings would show huge rates.
      const minutes = Math.max(1000, now - since.at) / 60_000;
      const perMinute = Math.round((counts.started - since.started) / minutes);
      return { ...counts, riding, waiting, reasons, perMinute };
    },
  };
}

/** Returns the figures as one line, which shows the progress on a terminal. */
export function progressLine(figures: Figures): string {
  const { riding, perMinute, started, failures, retries, waiting } = figures;
  const n = (value: number) => value.toLocaleString("en");
  return `${n(riding)} riding, ${n(perMinute)} starts a minute, ${n(started)} rides, ${n(failures)} failures, ${n(retries)} retries, ${n(waiting)} waiting`;
}
