import type { ProblemLog } from "./problems.ts";
import { booleanFrom, identifierFrom, instantFrom, numberFrom, textFrom, type JsonObject } from "./values.ts";

/** The greatest integer a column holds: above it one number would lose the whole snapshot. */
export const GREATEST_INTEGER = 2_147_483_647;
/** Limits the characters of a text. Too high: one record's name fills every page that lists it. */
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

/**
 * Reads the fields of one record of a feed. A value that means nothing is replaced and noted as a problem;
 * another spelling of a good value is no problem.
 */
export class RecordReader {
  readonly raw: JsonObject;
  readonly #id: string | null;
  readonly #now: number;
  readonly #problems: ProblemLog;

  /**
   * @param id null: the record is not one of many
   * @param now milliseconds since 1970
   */
  constructor(raw: JsonObject, id: string | null, now: number, problems: ProblemLog) {
    this.raw = raw;
    this.#id = id;
    this.#now = now;
    this.#problems = problems;
  }

  /** Notes that a field was repaired, and why. */
  repaired(field: string, reason: string): void {
    this.#problems.add({ record: this.#id, field, value: this.raw[field], reason, action: "repaired" });
  }

  /**
   * Returns a field's value as `from` interprets it; null when it is empty or invalid. An invalid value is logged as
   * `issue`.
   */
  meaning<Value>(field: string, from: (value: unknown) => Value | undefined, issue: string): Value | null {
    const meaning = from(this.raw[field]);
    if (meaning === undefined && this.#isGiven(field) && this.raw[field] !== "") this.repaired(field, issue);
    return meaning ?? null;
  }

  identifier(field: string): string | null {
    return this.meaning(field, identifierFrom, "not_an_identifier");
  }

  text(field: string): string | null {
    const text = this.meaning(field, textFrom, "not_a_string");
    if (text === null || text.length <= MAX_TEXT_LENGTH) return text;
    this.repaired(field, "too_long");
    return text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  }

  /** A flag that the feed must have. */
  flag(field: string, fallback: boolean): boolean {
    const flag = booleanFrom(this.raw[field]);
    if (flag === undefined) this.repaired(field, this.#isGiven(field) ? "not_a_boolean" : "missing");
    return flag ?? fallback;
  }

  /** A flag that the feed may leave out. */
  optionalFlag(field: string): boolean {
    return this.#isGiven(field) && this.flag(field, false);
  }

  /** A count of things by the first of `fields` that is there; `fallback` where none is. */
  count<Fallback extends number | null>(fields: readonly string[], fallback: Fallback): number | Fallback {
    const field = fields.find((name) => this.#isGiven(name));
    if (field === undefined) {
      if (fallback !== null) this.repaired(fields[0] ?? "", "missing");
      return fallback;
    }
    const number = numberFrom(this.raw[field]);
    if (number === undefined || number > GREATEST_INTEGER) {
      this.repaired(field, number === undefined ? "not_a_number" : "too_large");
      return fallback;
    }
    if (number < 0) this.repaired(field, "negative");
    else if (!Number.isInteger(number)) this.repaired(field, "not_whole");
    return Math.max(0, Math.trunc(number));
  }

  /** Metres, cut to whole ones: feeds measure them in fractions. */
  metres(field: string): number | null {
    const metres = numberFrom(this.raw[field]);
    if (metres !== undefined && metres >= 0 && metres <= GREATEST_INTEGER) return Math.trunc(metres);
    if (this.#isGiven(field)) this.repaired(field, "not_a_distance");
    return null;
  }

  /** Milliseconds since 1970. 0 is how many feeds say "never". */
  instant(field: string): number | null {
    const instant = instantFrom(this.raw[field]);
    if (instant === 0) return null;
    if (instant === undefined) {
      if (this.#isGiven(field)) this.repaired(field, "not_an_instant");
      return null;
    }
    const isAhead = instant > this.#now + CLOCK_TOLERANCE_MS;
    if (!isAhead && instant >= EARLIEST_MS) return instant;
    this.repaired(field, isAhead ? "in_the_future" : "before_2000");
    return null;
  }

  #isGiven(field: string): boolean {
    return this.raw[field] !== undefined && this.raw[field] !== null;
  }
}
