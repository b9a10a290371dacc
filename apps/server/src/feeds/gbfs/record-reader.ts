import type { Problem } from "./problem.ts";
import { shown } from "./problem.ts";
import { booleanFrom, identifierFrom, instantFrom, isObject, numberFrom, textFrom, type JsonObject } from "./values.ts";

/** The greatest integer a column holds: above it one number would lose the whole snapshot. */
const GREATEST_INTEGER = 2_147_483_647;
/** Older than any bike-share feed: Lyft's feeds say 86,400 s for "never". */
const EARLIEST = Date.UTC(2000, 0, 1);
/** A source's clock a few seconds ahead is normal; one that is further ahead would outrank the feed's next states. */
export const CLOCK_TOLERANCE = 5 * 60_000;

/** A record that cannot be used, and why. */
export interface Rejection {
  readonly field: string;
  readonly value: unknown;
  readonly reason: string;
}

export type PositionFault = "missing" | "out_of_range" | "null_island";

/**
 * Reads the fields of one record of a feed. A value that means nothing is replaced and noted as a problem;
 * another spelling of a good value is not worth a word.
 */
export interface RecordReader {
  readonly raw: JsonObject;
  text(field: string): string | null;
  identifier(field: string): string | null;
  flag(field: string, fallback: boolean): boolean;
  /** A count of things; `fallback` where the feed has none. The first of `fields` that is there counts. */
  count<Fallback extends number | null>(fields: readonly string[], fallback: Fallback): number | Fallback;
  /** Metres, cut to whole ones: feeds measure them in fractions. */
  metres(field: string): number | null;
  /** Milliseconds since 1970. */
  instant(field: string): number | null;
  repaired(field: string, reason: string): void;
}

/** @param now milliseconds since 1970 @param note takes the problems found */
export function recordReader(
  raw: JsonObject, now: number, feed: string, record: string, note: (problem: Problem) => void,
): RecordReader {
  const repaired = (field: string, reason: string) =>
    note({ feed, record, field, value: shown(raw[field]), reason, action: "repaired" });
  const given = (field: string) => raw[field] !== undefined && raw[field] !== null;
  return {
    raw,
    repaired,
    text(field) {
      const text = textFrom(raw[field]);
      if (text === undefined && given(field) && raw[field] !== "") repaired(field, "not_a_text");
      return text ?? null;
    },
    identifier(field) {
      const id = identifierFrom(raw[field]);
      if (id === undefined && given(field) && raw[field] !== "") repaired(field, "not_an_identifier");
      return id ?? null;
    },
    flag(field, fallback) {
      const flag = booleanFrom(raw[field]);
      if (flag === undefined) repaired(field, given(field) ? "not_a_boolean" : "missing");
      return flag ?? fallback;
    },
    count(fields, fallback) {
      const field = fields.find(given);
      if (field === undefined) {
        if (fallback !== null) repaired(fields[0] ?? "", "missing");
        return fallback;
      }
      const number = numberFrom(raw[field]);
      if (number === undefined || number > GREATEST_INTEGER) {
        repaired(field, number === undefined ? "not_a_number" : "too_large");
        return fallback;
      }
      if (number < 0) repaired(field, "negative");
      else if (!Number.isInteger(number)) repaired(field, "not_whole");
      return Math.max(0, Math.trunc(number));
    },
    metres(field) {
      const metres = numberFrom(raw[field]);
      if (metres !== undefined && metres >= 0 && metres <= GREATEST_INTEGER) return Math.trunc(metres);
      if (given(field)) repaired(field, "not_a_distance");
      return null;
    },
    instant(field) {
      const instant = instantFrom(raw[field]);
      if (instant === undefined) {
        if (given(field)) repaired(field, "not_an_instant");
        return null;
      }
      if (instant === 0) return null;
      if (instant > now + CLOCK_TOLERANCE) repaired(field, "in_the_future");
      else if (instant < EARLIEST) repaired(field, "before_2000");
      else return instant;
      return null;
    },
  };
}

/**
 * Where a record says that its thing is, or what is wrong with that. 0°, 0° is open sea, and what software writes
 * for "unknown".
 */
export function positionOf(raw: JsonObject): { lat: number; lon: number } | PositionFault {
  const lat = numberFrom(raw["lat"]);
  const lon = numberFrom(raw["lon"]);
  if (lat === undefined || lon === undefined) return "missing";
  if (Math.abs(lat) > 90 || Math.abs(lon) > 180) return "out_of_range";
  return lat === 0 && lon === 0 ? "null_island" : { lat, lon };
}

/** `vehicle_types_available` in the form that `StationReadings` wants: compact, ordered, only what can be read. */
export function vehicleTypesAvailable(reader: RecordReader): string {
  const field = "vehicle_types_available";
  const listed = reader.raw[field];
  if (listed === undefined || listed === null) return "[]";
  const counts = new Map<string, number>();
  let wrong = !Array.isArray(listed);
  for (const item of Array.isArray(listed) ? listed : []) {
    const id = isObject(item) ? identifierFrom(item["vehicle_type_id"]) : undefined;
    const count = isObject(item) ? numberFrom(item["count"]) : undefined;
    if (id === undefined || count === undefined || !isCount(count) || counts.has(id)) wrong = true;
    else counts.set(id, count);
  }
  if (wrong) reader.repaired(field, "unreadable_items");
  const ordered = [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(ordered.map(([vehicle_type_id, count]) => ({ vehicle_type_id, count })));
}

function isCount(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= GREATEST_INTEGER;
}
