import inspector from "node:inspector";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { HangThreadData, LastLine } from "./hang-thread.ts";
import type { WorkStatus } from "./work-watch.ts";

export interface HangWatchOptions {
  /** For how long this process, or a work of it that should get on, may hang. */
  readonly timeoutMs: number;
  readonly conditions: { works(): readonly WorkStatus[]; passTime(ms: number): void };
  /** Writes the last line before this process is ended because nothing of it runs any more. */
  readonly lastLine: LastLine;
  /** A work hangs, while the rest of this process goes on. */
  readonly onHang: (work: string, seconds: number) => void;
}

/** The maximum of milliseconds between two checks: the precision of the time-out. */
const MAX_INTERVAL_MS = 1_000;

/**
 * Ends a process that hangs, so that its supervisor starts another one: a service without a second process of its kind would
 * otherwise stand still until somebody looks.
 *
 * - Where a work hangs, `onHang` is called, once. A run that lasts is none that hangs while it gets on.
 * - Where nothing runs, as in an endless loop, a thread kills the process, which cannot do so itself.
 *
 * Time counts only while this process runs: one that was frozen goes on. While a debugger is attached, no time passes.
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

/** @returns a function to call with the milliseconds that this process has run; it calls `onHang`, once, when a work hangs */
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

/** The count of heartbeats while a debugger is attached, which may stop this process for long. */
const DEBUGGED = -1;

function startThread(workerData: HangThreadData): Worker {
  const extension = extname(import.meta.url);
  const thread = new Worker(new URL(`./hang-thread${extension}`, import.meta.url), {
    workerData,
    // The thread only counts.
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1 },
    execArgv: extension === ".ts" ? ["--conditions=@bikeshare/source"] : [],
  });
  // Without the thread the process continues, as without the watch.
  thread.on("error", () => undefined);
  thread.unref();
  return thread;
}
