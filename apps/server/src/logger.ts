import { format } from "node:util";
import { type Logger, pino } from "pino";
import type { Config } from "./config.ts";
import { escapeToOneLine } from "./printable.ts";

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
  const { prettyFactory } = (await import("pino-pretty")).default;
  const toText = prettyFactory({ ignore: "pid,hostname", translateTime: "HH:MM:ss" });
  return pino(options, { write: (line) => void stderr.write(toText(escapeTexts(JSON.parse(line)))) });
}

/**
 * Escapes the texts of a log entry that a person will read in a terminal. Messages and errors repeat what strangers sent,
 * which could look like another entry, or move the terminal's cursor and overwrite entries.
 */
function escapeTexts(value: unknown, key = ""): unknown {
  if (typeof value === "string") return key === "stack" ? escapeStack(value) : escapeToOneLine(value);
  if (Array.isArray(value)) return value.map((item) => escapeTexts(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [escapeToOneLine(name), escapeTexts(item, name)]),
  );
}

/** Where a line of a stack ends that Node or pino began, rather than an error's message. */
const STACK_LINE_END = /\n(?= {4}at |caused by: )/;

function escapeStack(stack: string): string {
  return stack.split(STACK_LINE_END).map(escapeToOneLine).join("\n");
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
