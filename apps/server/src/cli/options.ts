import { givenIdentifier, scopeNames, type Scope, isScope } from "@bikeshare/contract";
import type { Command } from "commander";
import { duration, integer, oneOf } from "../startup/values.ts";
import { UsageError } from "./usage-error.ts";

/** What `--system` names. */
export function systemOption(command: Command): string | undefined {
  return command.optsWithGlobals<{ system?: string }>().system;
}

/** Reads a comma-separated list of scopes. */
export function readScopes(text: string): Scope[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0 || names.length === 0) {
    throw new UsageError(
      `--scopes: ${unknown.length > 0 ? `unknown scope ${unknown.join(", ")}` : "name at least one"}. There are: ${scopeNames.join(", ")}.`,
    );
  }
  return [...new Set(names.filter(isScope))];
}

/** Reads an RFC 3339 instant that must lie ahead of `now`. */
export function readFutureInstant(option: string, text: string, now: number): Date {
  const instant = new Date(text);
  if (
    !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/i.test(text) ||
    Number.isNaN(instant.getTime())
  ) {
    throw new UsageError(`${option} must be an RFC 3339 instant such as 2027-01-31T00:00:00Z.`);
  }
  if (instant.getTime() <= now) throw new UsageError(`${option} must lie in the future.`);
  return instant;
}

/** Reads an option as values of the configuration are read. */
function readOption<Value>(option: string, text: string, parse: (text: string) => Value): Value {
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${option} ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** Reads an integer between bounds. */
export function readInteger(option: string, text: string, minimum: number, maximum: number): number {
  return readOption(option, text, integer(minimum, maximum));
}

/** Reads a duration such as `30s`, `15m`, `24h` or `7d` into milliseconds. @param bounds written in the same way */
export function readDuration(option: string, text: string, ...bounds: [minimum: string, maximum: string] | []): number {
  return readOption(option, text, duration(...bounds));
}

/** Reads one of some words. */
export function readWord<const Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  return readOption(option, text, oneOf(words));
}

/** Most characters of a name. */
const MAX_NAME_LENGTH = 255;

/** Reads a name: one line. */
export function readLine(option: string, text: string): string {
  const line = text.trim();
  if (line === "" || line.length > MAX_NAME_LENGTH || /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(line))
    throw new UsageError(`${option} must be one line of 1 to ${MAX_NAME_LENGTH} characters.`);
  return line;
}

/** Reads an id that the operator gives. */
export function readGivenId(text: string): string {
  const read = givenIdentifier.safeParse(text);
  if (!read.success) throw new UsageError(`The id ${read.error.issues[0]?.message ?? "cannot be that"}.`);
  return read.data;
}
