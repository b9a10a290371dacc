import { booleanFrom, identifierFrom, instantFrom, isObject, numberFrom, textFrom, type JsonObject } from "./values.ts";

/** The greatest integer a column holds: above it one number would lose the whole snapshot. */
const GREATEST_INTEGER = 2_147_483_647;
/** Characters of a text. Higher lets one record's name fill every page that lists it. */
const MAX_TEXT_LENGTH = 2_000;
/** Older than any bike-share feed: Lyft's feeds say 86,400 s for "never". */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
/** A source's clock a few seconds ahead is normal; one that is further ahead would outrank the feed's next states. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** A record that cannot be used, and why. */
export interface Rejection {
  readonly field: string;
  readonly value: unknown;
  readonly reason: string;
}

export type PositionIssue = "missing" | "out_of_range" | "null_island";

/**
 * Reads the fields of one record of a feed. A value that means nothing is replaced and noted as a problem;
 * another spelling of a good value is not worth a word.
 */
export class RecordReader {
  readonly raw: JsonObject;
  readonly #now: number;
  readonly #note: (field: string, reason: string) => void;

  /** @param now milliseconds since 1970 @param note hears which field was repaired, and why */
  constructor(raw: JsonObject, now: number, note: (field: string, reason: string) => void) {
    this.raw = raw;
    this.#now = now;
    this.#note = note;
  }

  text(field: string): string | null {
    const text = textFrom(this.raw[field]);
    if (text === undefined && this.#isGiven(field) && this.raw[field] !== "") this.#note(field, "not_a_string");
    if (text === undefined || text.length <= MAX_TEXT_LENGTH) return text ?? null;
    this.#note(field, "too_long");
    return text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  }

  identifier(field: string): string | null {
    const id = identifierFrom(this.raw[field]);
    if (id === undefined && this.#isGiven(field) && this.raw[field] !== "") this.#note(field, "not_an_identifier");
    return id ?? null;
  }

  /** A flag that the feed must have. */
  flag(field: string, fallback: boolean): boolean {
    const flag = booleanFrom(this.raw[field]);
    if (flag === undefined) this.#note(field, this.#isGiven(field) ? "not_a_boolean" : "missing");
    return flag ?? fallback;
  }

  /** A flag that the feed may leave out. */
  optionalFlag(field: string): boolean {
    return this.#isGiven(field) && this.flag(field, false);
  }

  /** A count of things; `fallback` where the feed has none. The first of `fields` that is there counts. */
  count<Fallback extends number | null>(fields: readonly string[], fallback: Fallback): number | Fallback {
    const field = fields.find((name) => this.#isGiven(name));
    if (field === undefined) {
      if (fallback !== null) this.#note(fields[0] ?? "", "missing");
      return fallback;
    }
    const number = numberFrom(this.raw[field]);
    if (number === undefined || number > GREATEST_INTEGER) {
      this.#note(field, number === undefined ? "not_a_number" : "too_large");
      return fallback;
    }
    if (number < 0) this.#note(field, "negative");
    else if (!Number.isInteger(number)) this.#note(field, "not_whole");
    return Math.max(0, Math.trunc(number));
  }

  /** Metres, cut to whole ones: feeds measure them in fractions. */
  metres(field: string): number | null {
    const metres = numberFrom(this.raw[field]);
    if (metres !== undefined && metres >= 0 && metres <= GREATEST_INTEGER) return Math.trunc(metres);
    if (this.#isGiven(field)) this.#note(field, "not_a_distance");
    return null;
  }

  /** Milliseconds since 1970. 0 is how many feeds say "never". */
  instant(field: string): number | null {
    const instant = instantFrom(this.raw[field]);
    if (instant === 0) return null;
    const issue = this.#instantIssue(instant);
    if (issue === undefined) return instant ?? null;
    if (this.#isGiven(field)) this.#note(field, issue);
    return null;
  }

  /** Notes that a field was repaired. */
  repaired(field: string, reason: string): void {
    this.#note(field, reason);
  }

  #isGiven(field: string): boolean {
    return this.raw[field] !== undefined && this.raw[field] !== null;
  }

  #instantIssue(instant: number | undefined): string | undefined {
    if (instant === undefined) return "not_an_instant";
    if (instant > this.#now + CLOCK_TOLERANCE_MS) return "in_the_future";
    return instant < EARLIEST_MS ? "before_2000" : undefined;
  }
}

/**
 * Where a record says that its thing is, or what is wrong with that. 0°, 0° is open sea, and what software writes
 * for "unknown".
 */
export function positionOf(raw: JsonObject): { lat: number; lon: number } | PositionIssue {
  const lat = numberFrom(raw["lat"]);
  const lon = numberFrom(raw["lon"]);
  if (lat === undefined || lon === undefined) return "missing";
  if (Math.abs(lat) > 90 || Math.abs(lon) > 180) return "out_of_range";
  return lat === 0 && lon === 0 ? "null_island" : { lat, lon };
}

/** The vehicles at a station, by their type. */
export interface TypesAvailable {
  /** In the form that `StationStatusReport` wants: compact, ordered, only what can be read. */
  readonly json: string;
  /** How many vehicles they are together. */
  readonly total: number;
}

/** Reads `vehicle_types_available`. */
export function vehicleTypesAvailable(reader: RecordReader): TypesAvailable {
  const field = "vehicle_types_available";
  const listed = reader.raw[field];
  if (listed === undefined || listed === null) return NO_TYPES;
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
  const total = ordered.reduce((sum, [, count]) => sum + count, 0);
  if (!isCount(total)) {
    reader.repaired(field, "too_large");
    return NO_TYPES;
  }
  return { json: JSON.stringify(ordered.map(([vehicle_type_id, count]) => ({ vehicle_type_id, count }))), total };
}

const NO_TYPES: TypesAvailable = { json: "[]", total: 0 };

/**
 * The vehicles at a station: as many as the feed says, or as its types are together where those are more. Some feeds
 * count some kinds of vehicle apart (Lyft's: scooters), and GBFS says that the types add up to all that are there.
 */
export function vehiclesAvailable(reader: RecordReader, types: TypesAvailable): number {
  const fields = ["num_bikes_available", "num_vehicles_available"];
  const count = reader.count(fields, 0);
  if (count >= types.total) return count;
  reader.repaired(fields.find((field) => reader.raw[field] !== undefined) ?? "num_bikes_available", "fewer_than_types");
  return types.total;
}

function isCount(number: number): boolean {
  return Number.isInteger(number) && number >= 0 && number <= GREATEST_INTEGER;
}
