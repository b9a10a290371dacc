import type { Field } from "@bikeshare/contract";
import { shorten } from "../report-files.ts";
import { GREATEST_INTEGER, MAX_TEXT_LENGTH, type ReadingContext, readValue } from "./canonical.ts";
import type { ProblemLog } from "./problems.ts";
import type { References } from "./references.ts";
import { booleanFrom, identifierFrom, instantFrom, numberFrom, textFrom, type JsonObject } from "./values.ts";

/** Older than any bike-share feed: Lyft's feeds say 86,400 s for "never". */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
/** A source's clock a few seconds ahead is normal; one that is further ahead would outrank the feed's next states. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** What the records of a document have in common, and where their problems go. */
export interface DocumentContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The language of texts that name none. */
  readonly language: string;
  readonly problems: ProblemLog;
  readonly unknownFields: UnknownFields;
  readonly references: References;
}

/** Limits the names of unknown fields. Too high: a feed of random names fills the report. */
const MAX_UNKNOWN_FIELDS = 100;

/** Names of fields that GBFS does not know, each once. */
export class UnknownFields {
  readonly #names = new Set<string>();

  add(name: string): void {
    if (this.#names.size < MAX_UNKNOWN_FIELDS) this.#names.add(shorten(name));
  }

  list(): readonly string[] {
    return [...this.#names].toSorted();
  }
}

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
export class RecordReader implements ReadingContext {
  readonly raw: JsonObject;
  readonly language: string;
  readonly #id: string | null;
  readonly #document: DocumentContext;

  /** @param id null: the record is not one of many */
  constructor(raw: JsonObject, id: string | null, document: DocumentContext) {
    this.raw = raw;
    this.#id = id;
    this.#document = document;
    this.language = document.language;
  }

  problem(field: string, value: unknown, reason: string): void {
    this.#document.problems.add({ record: this.#id, field, value, reason, action: "repaired" });
  }

  /** Notes which other records a value in canonical form names. */
  refers(value: unknown): void {
    this.#document.references.note(this.#id, value);
  }

  unknown(field: string): void {
    this.#document.unknownFields.add(field);
  }

  /** Notes that a field was repaired, and why. */
  repaired(field: string, reason: string): void {
    this.problem(field, this.raw[field], reason);
  }

  /**
   * Reads the optional fields that have no column, in their canonical form, as compact JSON: two that are equal are the same
   * text. Null where there are none.
   * @param maxLength of the JSON: the largest fields are left out of more
   */
  facts(fields: readonly (readonly [string, Field])[], maxLength: number, record = this.raw): string | null {
    const facts: Record<string, unknown> = {};
    let isAny = false;
    for (const [name, { type }] of fields) {
      if (record[name] === undefined) continue;
      const value = readValue(type, record[name], this, name);
      if (value === undefined) continue;
      facts[name] = value;
      isAny = true;
    }
    if (!isAny) return null;
    this.refers(facts);
    return boundedJson(facts, maxLength, this);
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
    const isAhead = instant > this.#document.now + CLOCK_TOLERANCE_MS;
    if (!isAhead && instant >= EARLIEST_MS) return instant;
    this.repaired(field, isAhead ? "in_the_future" : "before_2000");
    return null;
  }

  #isGiven(field: string): boolean {
    return this.raw[field] !== undefined && this.raw[field] !== null;
  }
}

/** Returns an object's JSON within a length; its largest fields are left out of more. Null where nothing is left. */
export function boundedJson(record: JsonObject, maxLength: number, context: ReadingContext): string | null {
  const json = JSON.stringify(record);
  if (json.length <= maxLength) return json;
  const sizes = Object.entries(record).map(([name, value]) => [name, JSON.stringify(value).length] as const);
  const [largest] = sizes.toSorted(([, a], [, b]) => b - a)[0] ?? [];
  if (largest === undefined) return null;
  context.problem(largest, record[largest], "too_large");
  const rest = Object.entries(record).filter(([name]) => name !== largest);
  return rest.length === 0 ? null : boundedJson(Object.fromEntries(rest), maxLength, context);
}
