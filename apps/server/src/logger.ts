import { format } from "node:util";
import { type Logger, pino } from "pino";
import type { Config } from "./config.ts";

export type { Logger } from "pino";

/** Logs to stderr. Stdout is for results. */
export async function createLogger({
  logLevel: level,
  logFormat,
}: Pick<Config, "logLevel" | "logFormat">): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const stderr = pino.destination({ dest: 2, sync: false });
  // A closed terminal takes no more lines; the service still has to stop in order.
  stderr.on("error", () => undefined);
  if (!isLogForPeople({ logFormat })) return pino(options, stderr);
  const { default: pretty } = await import("pino-pretty");
  return pino(options, pretty({ destination: stderr, ignore: "pid,hostname", translateTime: "HH:MM:ss" }));
}

/** Tells whether the log is text that a person reads, which may have other text in between; otherwise it is JSON lines. */
export function isLogForPeople({ logFormat }: Pick<Config, "logFormat">): boolean {
  return logFormat === undefined ? process.stderr.isTTY : logFormat === "text";
}

/**
 * Logs the warnings that libraries write to the console, such as the Redis client's: plain text among JSON lines would stop
 * who reads those.
 * @returns lets them go to the console again
 */
export function logConsoleWarnings(logger: Pick<Logger, "warn">): () => void {
  const { console: before } = globalThis;
  globalThis.console = { ...before, warn: (...said: unknown[]) => logger.warn(format(...said)) };
  return () => void (globalThis.console = before);
}
