import type { Field } from "@bikeshare/contract";
import { shorten } from "../report-files.ts";
import { GREATEST_INTEGER, MAX_TEXT_LENGTH, type ReadingContext, readValue } from "./canonical.ts";
import type { ProblemLog } from "./problems.ts";
import type { References } from "./references.ts";
import { booleanFrom, identifierFrom, instantFrom, numberFrom, textFrom, type JsonObject } from "./values.ts";

/** An earlier instant is not a real one: Lyft's feeds write 86,400 s for "never". */
const EARLIEST_MS = Date.UTC(2000, 0, 1);
/** How far ahead a source's clock may be. A state from further ahead would count as newer than the feed's next states. */
export const CLOCK_TOLERANCE_MS = 5 * 60_000;

/** What the records of a document share: the time, the language, and the logs of their problems and references. */
export interface DocumentContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The language of texts that do not name theirs. */
  readonly language: string;
  readonly problems: ProblemLog;
  readonly unknownFields: UnknownFields;
  readonly references: References;
}

/** Maximum names of unknown fields that are kept. Too high: a feed of random names fills the report. */
const MAX_UNKNOWN_FIELDS = 100;

/** Collects the names of fields that GBFS does not define, each once. */
export class UnknownFields {
  readonly #names = new Set<string>();

  add(name: string): void {
    if (this.#names.size < MAX_UNKNOWN_FIELDS) this.#names.add(shorten(name));
  }

  list(): readonly string[] {
    return [...this.#names].toSorted();
  }
}

/** Why a record cannot be used: the field, its value, and the reason. */
export interface Rejection {
  readonly field: string;
  readonly value: unknown;
  readonly reason: string;
}

/**
 * Reads the fields of one record of a feed. An invalid value is replaced or left out, and logged as a problem. A valid value
 * in an unusual spelling is accepted without a problem.
 */
export class RecordReader implements ReadingContext {
  readonly raw: JsonObject;
  readonly language: string;
  readonly #id: string | null;
  readonly #document: DocumentContext;

  /** @param id the record's id; null: the document has only this record */
  constructor(raw: JsonObject, id: string | null, document: DocumentContext) {
    this.raw = raw;
    this.#id = id;
    this.#document = document;
    this.language = document.language;
  }

  problem(field: string, value: unknown, reason: string): void {
    this.#document.problems.add({ record: this.#id, field, value, reason, action: "repaired" });
  }

  /** Collects the references to other records in a value in canonical form. */
  refers(value: unknown): void {
    this.#document.references.note(this.#id, value);
  }

  unknown(field: string): void {
    this.#document.unknownFields.add(field);
  }

  /** Logs that a field's value was replaced, and why. */
  repaired(field: string, reason: string): void {
    this.problem(field, this.raw[field], reason);
  }

  /**
   * Reads the record's facts: the fields that have no column. Returns them in canonical form as JSON, so that equal facts
   * are equal texts. Null: there are none.
   * @param maxLength the maximum length of the JSON. The largest fields are left out if it is longer.
   * @param record the record with the names of the newest version; `raw` may have older ones
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
   * Returns a field's value as parsed by `from`; null when it is empty or invalid. Logs an invalid value with the reason
   * `issue`.
   */
  #parsed<Value>(field: string, from: (value: unknown) => Value | undefined, issue: string): Value | null {
    const parsed = from(this.raw[field]);
    if (parsed === undefined && this.#isGiven(field) && this.raw[field] !== "") this.repaired(field, issue);
    return parsed ?? null;
  }

  /** Reads an id; null: it is missing or invalid. */
  identifier(field: string): string | null {
    return this.#parsed(field, identifierFrom, "not_an_identifier");
  }

  /** Reads a text in one language, and shortens one that is too long. Null: it is missing or invalid. */
  text(field: string): string | null {
    const text = this.#parsed(field, textFrom, "not_a_string");
    if (text === null || text.length <= MAX_TEXT_LENGTH) return text;
    this.repaired(field, "too_long");
    return text.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  }

  /** Reads a boolean that the feed must have. Returns `fallback`, and logs a problem, when it is missing or invalid. */
  flag(field: string, fallback: boolean): boolean {
    const flag = booleanFrom(this.raw[field]);
    if (flag === undefined) this.repaired(field, this.#isGiven(field) ? "not_a_boolean" : "missing");
    return flag ?? fallback;
  }

  /** Reads a boolean that the feed may leave out, which then is false. */
  optionalFlag(field: string): boolean {
    return this.#isGiven(field) && this.flag(field, false);
  }

  /**
   * Reads a number of things from the first of `fields` that the record has. Returns `fallback` if it has none of them, or
   * the value is no number or too large. Returns 0 for a negative number, and cuts off fractions; both are logged.
   */
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

  /** Reads a distance in metres. Cuts off fractions of a metre. Null: it is missing or invalid. */
  metres(field: string): number | null {
    const metres = numberFrom(this.raw[field]);
    if (metres !== undefined && metres >= 0 && metres <= GREATEST_INTEGER) return Math.trunc(metres);
    if (this.#isGiven(field)) this.repaired(field, "not_a_distance");
    return null;
  }

  /** Reads an instant in milliseconds since 1970. Null: it is missing, invalid, or 0, which many feeds write for "never". */
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

  /** Tells whether the record has a value for a field, valid or not. */
  #isGiven(field: string): boolean {
    return this.raw[field] !== undefined && this.raw[field] !== null;
  }
}

/** Returns an object's JSON. Leaves out the largest fields if it is longer than `maxLength`. Null: no field is left. */
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
