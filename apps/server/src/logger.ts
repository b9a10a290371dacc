import { type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./config.ts";

export type { Logger } from "pino";

/** Logs to stderr: JSON lines, or lines for people when it is a terminal. Stdout is for results. */
export function createLogger(level: LogLevel): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const stderr = pino.destination({ dest: 2, sync: false });
  // A terminal that was closed takes no more lines; the service still has to stop in order.
  stderr.on("error", () => undefined);
  return process.stderr.isTTY
    ? pino(options, pretty({ destination: stderr, ignore: "pid,hostname", translateTime: "HH:MM:ss" }))
    : pino(options, stderr);
}
