import { givenIdentifier, scopeNames, type Scope, isScope } from "@bikeshare/contract";
import type { Command } from "commander";
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
      `--scopes: ${unknown.length > 0 ? `${unknown.join(", ")} is no scope` : "name at least one"}. There are: ${scopeNames.join(", ")}.`,
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

/** Reads a whole number between bounds. */
export function readWholeNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most) {
    throw new UsageError(`${option} must be a whole number from ${least} to ${most}.`);
  }
  return value;
}

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a duration such as `30s`, `15m`, `24h` or `7d` into milliseconds. @param bounds written in the same way */
export function readDuration(
  option: string,
  text: string,
  bounds?: { readonly least: string; readonly most: string },
): number {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined)
    throw new UsageError(`${option} must be a duration such as 30s, 15m, 24h or 7d.`);
  const value = Number(amount) * UNITS[unit as keyof typeof UNITS]; // the pattern allows no other unit
  if (bounds === undefined) return value;
  const { least, most } = bounds;
  if (value >= readDuration(option, least) && value <= readDuration(option, most)) return value;
  throw new UsageError(`${option} must be from ${least} to ${most}.`);
}

/** Reads one of some words. */
export function readWord<const Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word === undefined) throw new UsageError(`${option}: ${JSON.stringify(text)} is none of ${words.join(", ")}.`);
  return word;
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
