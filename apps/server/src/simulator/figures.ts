import type { BatchResult } from "@bikeshare/contract";
import type { Command } from "./commands.ts";

/** What a simulation has done so far. */
export interface Figures {
  readonly riding: number;
  readonly started: number;
  readonly completed: number;
  readonly cancelled: number;
  /** Rides started per minute of the wall clock, over the last minute or less. */
  readonly perMinute: number;
  readonly requests: number;
  /** Requests that had to be sent again. */
  readonly retries: number;
  /** Commands that the service refused. */
  readonly failures: number;
  /** Commands that are not acknowledged yet. */
  readonly waiting: number;
  /** The latest reasons for failures and retries, each once, with how often. */
  readonly reasons: ReadonlyMap<string, number>;
}

export interface FigureKeeper {
  answered(command: Command, result: BatchResult): void;
  requested(outcome: "done" | "again" | "refused", reason: string): void;
  read(riding: number, waiting: number, now: number): Figures;
}

/** Reasons that are told apart. More would fill memory where a message names an id. */
const MOST_REASONS = 50;
/** Milliseconds over which starts per minute are counted. */
const WINDOW = 60_000;

/** @param begin milliseconds since 1970 */
export function createFigures(begin: number): FigureKeeper {
  const counts = { started: 0, completed: 0, cancelled: 0, requests: 0, retries: 0, failures: 0 };
  const reasons = new Map<string, number>();
  const looks: { at: number; started: number }[] = [{ at: begin, started: 0 }];
  const note = (reason: string) => {
    if (reasons.has(reason) || reasons.size < MOST_REASONS) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  };
  return {
    answered({ path }, { outcome, error }) {
      if (outcome === "failed") {
        counts.failures++;
        note(`${path}: ${error?.error ?? ""} ${error?.message ?? ""}`);
      }
      if (path === "rides/start" && outcome === "created") counts.started++;
      if (path === "rides/end" && outcome === "updated") counts.completed++;
      if (path === "rides/cancel" && outcome === "updated") counts.cancelled++;
    },
    requested(outcome, reason) {
      counts.requests++;
      if (outcome === "done") return;
      counts.retries++;
      note(reason);
    },
    read(riding, waiting, now) {
      looks.push({ at: now, started: counts.started });
      while (looks.length > 2 && (looks[1]?.at ?? now) <= now - WINDOW) looks.shift();
      const since = looks[0] ?? { at: now, started: 0 };
      const minutes = Math.max(1000, now - since.at) / 60_000;
      return {
        ...counts,
        riding,
        waiting,
        reasons,
        perMinute: Math.round((counts.started - since.started) / minutes),
      };
    },
  };
}

/** The figures as a line for whoever watches. */
export function progressLine(figures: Figures): string {
  const { riding, perMinute, started, failures, retries, waiting } = figures;
  const n = (value: number) => value.toLocaleString("en");
  return `${n(riding)} riding, ${n(perMinute)} starts a minute, ${n(started)} rides, ${n(failures)} failures, ${n(retries)} retries, ${n(waiting)} waiting`;
}
