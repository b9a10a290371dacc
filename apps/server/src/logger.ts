import { format } from "node:util";
import { type Logger, pino } from "pino";
import type { Config } from "./config.ts";
import { escapeToOneLine } from "./printable.ts";

export type { Logger } from "pino";

/** Creates a logger that writes to stderr, as text or as lines of JSON. Stdout is for the results of commands. */
export async function createLogger({
  logLevel: level,
  logFormat,
}: Pick<Config, "logLevel" | "logFormat">): Promise<Logger> {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  const stderr = pino.destination({ dest: 2, sync: false });
  // Ignores errors of writing, such as those of a closed terminal, so that the service can still stop gracefully.
  stderr.on("error", () => undefined);
  if (!isLogForPeople({ logFormat })) return pino(options, stderr);
  const { prettyFactory } = (await import("pino-pretty")).default;
  const toText = prettyFactory({ ignore: "pid,hostname", translateTime: "HH:MM:ss" });
  return pino(options, { write: (line) => void stderr.write(toText(escapeTexts(JSON.parse(line)))) });
}

/**
 * Escapes the texts of a log entry that a person will read in a terminal. Messages and errors repeat texts from strangers,
 * which could look like another entry, or could move the terminal's cursor and overwrite entries.
 */
function escapeTexts(value: unknown, key = ""): unknown {
  if (typeof value === "string") return key === "stack" ? escapeStack(value) : escapeToOneLine(value);
  if (Array.isArray(value)) return value.map((item) => escapeTexts(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [escapeToOneLine(name), escapeTexts(item, name)]),
  );
}

/** Matches the line ends of a stack that Node or pino has added. Other line ends belong to the error's message. */
const STACK_LINE_END = /\n(?= {4}at |caused by: )/;

function escapeStack(stack: string): string {
  return stack.split(STACK_LINE_END).map(escapeToOneLine).join("\n");
}

/** Tells whether the log is text for people, among which other text may appear; otherwise the log is lines of JSON. */
export function isLogForPeople({ logFormat }: Pick<Config, "logFormat">): boolean {
  return logFormat === undefined ? process.stderr.isTTY : logFormat === "text";
}

/**
 * Logs the warnings that libraries, such as the Redis client, write to the console: plain text among lines of JSON would
 * break programs that read the log. In a log for people they get a time, and are escaped.
 * @returns a function that lets warnings go to the console again
 */
export function logConsoleWarnings(logger: Pick<Logger, "warn">): () => void {
  const { console: before } = globalThis;
  globalThis.console = { ...before, warn: (...parts: unknown[]) => logger.warn(format(...parts)) };
  return () => void (globalThis.console = before);
}
