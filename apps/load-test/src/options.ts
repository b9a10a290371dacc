import { InvalidArgumentError } from "@commander-js/extra-typings";

/*
 * Parsers for the values of command line options. For an invalid value they throw a usage error, which commander reports
 * with the name of the option.
 */

/** Parses a whole number from `minimum` to `maximum`. */
export function integer(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`must be an integer from ${minimum} to ${maximum}.`);
  };
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** Reads a duration such as `30s` into milliseconds. */
export function duration(minimumMs: number, maximumMs: number): (text: string) => number {
  return (text) => {
    const [, amount, unit] = /^(\d{1,6})(ms|s|m)$/.exec(text) ?? [];
    const value = Number(amount) * (UNITS_MS[unit ?? ""] ?? Number.NaN);
    if (value >= minimumMs && value <= maximumMs) return value;
    const bounds = `${minimumMs / 1000}s to ${maximumMs / 60_000}m`;
    throw new InvalidArgumentError(`must be a duration from ${bounds}, such as 30s or 5m.`);
  };
}

/** Parses names from a list separated by commas. */
export function names(known: readonly string[]): (text: string) => string[] {
  return (text) => {
    const given = text.split(",").map((name) => name.trim());
    const unknown = given.filter((name) => !known.includes(name));
    if (unknown.length === 0) return [...new Set(given)];
    throw new InvalidArgumentError(`unknown: ${unknown.join(", ")}. Known are ${known.join(", ")}.`);
  };
}

/** Parses each item of a list separated by commas. */
export function listOf<Value>(parse: (text: string) => Value): (text: string) => Value[] {
  return (text) => text.split(",").map((part) => parse(part.trim()));
}
