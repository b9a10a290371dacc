import { type Logger, pino } from "pino";
import pretty from "pino-pretty";
import type { LogLevel } from "./config.ts";

export type { Logger } from "pino";

/** Logs to stderr: JSON lines, or lines for people when it is a terminal. Stdout is for results. */
export function createLogger(level: LogLevel): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  return process.stderr.isTTY
    ? pino(options, pretty({ destination: 2, ignore: "pid,hostname", translateTime: "HH:MM:ss" }))
    : pino(options, pino.destination({ dest: 2, sync: false }));
}
