import { Refused } from "./answer.ts";
import type { Rule, Rules } from "./endpoint.ts";
import { isInstant } from "./time-text.ts";

/** Parameters that were read: numbers are numbers. */
export type Values = Readonly<Record<string, string | number>>;

/**
 * Reads a query string as the endpoint's rules say.
 *
 * @throws Refused `invalid_parameter` that names each wrong parameter, unknown and repeated ones too
 */
export function readQuery(search: URLSearchParams, rules: Rules): Values {
  const names = [...new Set(search.keys())];
  const values = new Map<string, string | number>();
  const faults = Object.entries(rules).flatMap(([name, rule]) => {
    const [text, ...more] = search.getAll(name);
    if (text === undefined) return [];
    const value = rule.type === "integer" && /^\d+$/.test(text) ? Number(text) : text;
    values.set(name, value);
    const fault = more.length > 0 ? "must be given once" : (faultOf(value, rule) ?? bboxFault(name, text));
    return fault === undefined ? [] : [`${name} ${fault}`];
  });
  const unknown = names.filter((name) => !Object.hasOwn(rules, name));
  refuse([...faults, ...unknownFaults(unknown, "parameter of this endpoint")]);
  return Object.fromEntries(values);
}

/**
 * Checks the headers that the endpoint's rules name.
 *
 * @throws Refused `invalid_parameter`
 */
export function checkHeaders(headers: Headers, rules: Rules): void {
  refuse(
    Object.entries(rules).flatMap(([name, rule]) => {
      const value = headers.get(name);
      const fault = value === null ? undefined : faultOf(value, rule);
      return fault === undefined ? [] : [`${name} ${fault}`];
    }),
  );
}

/**
 * Reads a body as the endpoint's rules say.
 *
 * @throws Refused `invalid_parameter` that names each wrong field
 */
export function readBody(body: unknown, rules: Rules): Values {
  if (body === undefined) throw new Refused("invalid_parameter", "the body must be given.");
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Refused("invalid_parameter", "the body must be an object.");
  }
  const fields = Object.entries(body as Readonly<Record<string, unknown>>);
  const known = fields.filter(([name]) => Object.hasOwn(rules, name));
  const faults = known.flatMap(([name, value]) => {
    const rule = rules[name];
    const fault = rule && faultOf(value, rule);
    return fault === undefined ? [] : [`${name} ${fault}`];
  });
  const unknown = fields.map(([name]) => name).filter((name) => !Object.hasOwn(rules, name));
  refuse([...faults, ...unknownFaults(unknown, "field of the body")]);
  return Object.fromEntries(known) as Values; // each has passed its rule
}

/** What is wrong with a value, as the end of a sentence that its name begins; undefined when nothing is. */
function faultOf(value: unknown, rule: Rule): string | undefined {
  if (rule.type === "integer") return integerFault(value, rule);
  if (typeof value !== "string") return "must be a text";
  const { enum: values, format, pattern, minLength = 0, maxLength = Infinity } = rule;
  if (values !== undefined && !values.includes(value)) return `must be one of ${values.join(", ")}`;
  if (format !== undefined && !isInstant(value)) return NO_INSTANT;
  if (pattern !== undefined && !new RegExp(pattern).test(value)) return `must have the form ${pattern}`;
  if (value.length < minLength) return "must not be empty";
  if (value.length > maxLength) return `must have at most ${maxLength} characters`;
  return value.includes("\0") ? "must not hold a NUL character" : undefined;
}

const NO_INSTANT = "must be an RFC 3339 instant such as 2026-01-31T08:00:00Z (write the + of an offset as %2B)";

function integerFault(value: unknown, { minimum = -Infinity, maximum = Infinity }: Rule): string | undefined {
  // Of a query, digits were made a number; whatever else stands there is none.
  const isWhole = typeof value === "number" && Number.isInteger(value);
  if (isWhole && value >= minimum && value <= maximum) return undefined;
  if (maximum === Infinity) return `must be a whole number, ${minimum} or more`;
  return isWhole ? `must be between ${minimum} and ${maximum}` : "must be a whole number";
}

function unknownFaults(names: readonly string[], what: string): string[] {
  if (names.length === 0) return [];
  const field = names.length === 1 ? `is no ${what}` : `are no ${what.replace(" ", "s ")}`;
  return [`${names.join(", ")} ${field}`];
}

function refuse(faults: readonly string[]): void {
  if (faults.length > 0) throw new Refused("invalid_parameter", `${faults.join("; ")}.`);
}

/** A rectangle in WGS 84 degrees, borders included; with west > east it crosses the antimeridian. */
export interface BoundingBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** Reads `min_lon,min_lat,max_lon,max_lat`. JSON Schema has no words for it; undefined when it is not that. */
export function readBbox(text: string): BoundingBox | undefined {
  const parts = text.split(",").map((part) => (/^-?\d+(\.\d+)?$/.test(part.trim()) ? Number(part) : Number.NaN));
  const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN] = parts;
  // Written so that what is no number fails too.
  const isBox = parts.length === 4 && Math.abs(west) <= 180 && Math.abs(east) <= 180;
  return isBox && south >= -90 && north <= 90 && south <= north ? { west, south, east, north } : undefined;
}

function bboxFault(name: string, text: string): string | undefined {
  if (name !== "bbox" || readBbox(text) !== undefined) return undefined;
  return "must be four numbers, min_lon,min_lat,max_lon,max_lat, in WGS 84 degrees with min_lat ≤ max_lat";
}
