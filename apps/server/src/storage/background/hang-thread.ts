import { writeSync } from "node:fs";
import { workerData } from "node:worker_threads";

/*
 * The thread that hang-watch.ts starts. It watches the main thread, and kills the process when the main thread has not
 * increased its counter for too long.
 */

/** The format of the line that the process writes before it is killed: the same as its log's (logger.ts). */
export interface LastLine {
  readonly format: "json" | "text" | "none";
}

/** The data that the thread is started with. */
export interface HangThreadData extends LastLine {
  /** One 32-bit integer, which the main thread increases as long as it runs. */
  readonly heartbeats: SharedArrayBuffer;
  /** The value in `heartbeats` while a debugger is attached. */
  readonly debugged: number;
  readonly timeoutMs: number;
  readonly intervalMs: number;
}

const { heartbeats, debugged, timeoutMs, intervalMs, format } = workerData as HangThreadData;
const counter = new Int32Array(heartbeats);
/** The number of the level `fatal` in the log library pino. */
const LEVEL = 60;

let last = 0;
let hungMs = 0;
// Counts the calls rather than clock time, so that time in which the whole process is frozen does not count.
setInterval(() => {
  const now = Atomics.load(counter, 0);
  hungMs = now === last && now !== debugged ? hungMs + intervalMs : 0;
  last = now;
  if (hungMs <= timeoutMs) return;
  const seconds = Math.round(hungMs / 1_000);
  const msg = `nothing of this process has run for ${seconds} s; it ends, so that its supervisor starts another one`;
  const time = new Date(performance.timeOrigin + performance.now()).toISOString();
  const text = { json: JSON.stringify({ level: LEVEL, time, condition: "process_hangs", seconds, msg }), text: msg };
  try {
    if (format !== "none") writeSync(2, `${text[format]}\n`);
  } finally {
    process.kill(process.pid, "SIGKILL");
  }
}, intervalMs);
