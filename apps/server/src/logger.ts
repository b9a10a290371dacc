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

/** Whether the log is text that a person reads, which may have other text in between; otherwise it is JSON lines. */
export function isLogForPeople({ logFormat }: Pick<Config, "logFormat">): boolean {
  return logFormat === undefined ? process.stderr.isTTY : logFormat === "text";
}
