import inspector from "node:inspector";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { HangThreadData, LastLine } from "./hang-thread.ts";
import type { WorkStatus } from "./work-watch.ts";

export interface HangWatchOptions {
  /**
   * Milliseconds for which this process, or a piece of its background work, may make no progress. Work whose `maxSilenceMs`
   * is longer may take that long.
   */
  readonly timeoutMs: number;
  /**
   * The background work of this process: `works` returns its status, and `passTime` adds time in which the process has
   * run (health/conditions/conditions.ts).
   */
  readonly conditions: { works(): readonly WorkStatus[]; passTime(ms: number): void };
  /** The format of the line that is written before a process in which nothing runs any more is killed. */
  readonly lastLine: LastLine;
  /** Called when a piece of background work hangs, while the rest of this process goes on. Must end this process. */
  readonly onHang: (work: string, seconds: number) => void;
}

/** The maximum of milliseconds between two checks: the precision of the time-out. */
const MAX_INTERVAL_MS = 1_000;

/**
 * Ends this process when it hangs, so that its supervisor starts another one. A service of one process would otherwise do
 * nothing until somebody notices.
 *
 * - When a piece of background work hangs, `onHang` is called, once, and ends the process. A long run is not hung while it
 *   makes progress.
 * - When nothing runs, as in an endless loop, a thread kills the process, which can no longer end itself.
 *
 * Only time in which this process runs counts, so a process that was frozen goes on afterwards. While a debugger is
 * attached, no time counts.
 */
export function watchForHangs(options: HangWatchOptions): { readonly close: () => Promise<void> } {
  const { timeoutMs, lastLine } = options;
  const intervalMs = Math.min(MAX_INTERVAL_MS, timeoutMs / 10);
  const heartbeats = new SharedArrayBuffer(4);
  const counter = new Int32Array(heartbeats);
  const checkWorks = createWorkCheck(options);
  const timer = setInterval(() => {
    const isDebugged = inspector.url() !== undefined;
    Atomics.store(counter, 0, isDebugged ? DEBUGGED : Atomics.load(counter, 0) + 1);
    if (!isDebugged) checkWorks(intervalMs);
  }, intervalMs);
  timer.unref();
  const thread = startThread({ heartbeats, debugged: DEBUGGED, timeoutMs, intervalMs, ...lastLine });
  return {
    close: async () => {
      clearInterval(timer);
      await thread.terminate();
    },
  };
}

/** @returns a function to call with the milliseconds that this process has run; it calls `onHang` once when work hangs */
export function createWorkCheck({ timeoutMs, conditions, onHang }: Omit<HangWatchOptions, "lastLine">) {
  let hasHung = false;
  return (passedMs: number): void => {
    conditions.passTime(passedMs);
    const hung = conditions.works().find(({ heldUpMs, maxSilenceMs }) => heldUpMs > Math.max(timeoutMs, maxSilenceMs));
    if (hung === undefined || hasHung) return;
    hasHung = true;
    onHang(hung.work, Math.round(hung.heldUpMs / 1_000));
  };
}

/** The value of the heartbeat counter while a debugger is attached: the debugger may stop this process for long. */
const DEBUGGED = -1;

/** Starts the thread that watches this one: a .ts file in the repository, .js in the published package. */
function startThread(workerData: HangThreadData): Worker {
  const extension = extname(import.meta.url);
  const thread = new Worker(new URL(`./hang-thread${extension}`, import.meta.url), {
    workerData,
    // Little memory is enough, because the thread only counts.
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
    // Does not inherit the options of this process. Sources run with this condition, by which they import other sources.
    execArgv: extension === ".ts" ? ["--conditions=@bikeshare/source"] : [],
  });
  // If the thread fails, the process goes on without this watch.
  thread.on("error", () => undefined);
  thread.unref();
  return thread;
}
