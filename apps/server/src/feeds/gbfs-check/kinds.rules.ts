import {
  type Fields,
  type FieldType,
  type GbfsVersion,
  INTERNATIONAL_PHONE,
  isAtLeast,
  type LocalText,
  wordsIn,
} from "@bikeshare/contract";
import { isObject } from "../gbfs/values.ts";

// The form that each kind of value must have in each version of GBFS. structure.rules.ts checks the values of a feed by it.

/** The beginning of GBFS, in seconds since 1970. From GBFS 1.1 to 2.3, no timestamp may be earlier. */
export const EARLIEST_SECONDS = 1_450_155_600;

/** How a kind of value is described and tested. */
interface Kind {
  /** The expected form, as the end of a sentence that begins with "GBFS 2.3 requires". */
  readonly expected: (version: GbfsVersion, type: FieldType) => string;
  readonly accepts: (value: unknown, version: GbfsVersion, type: FieldType) => boolean;
}

/** Makes the kind of a string that must match. @param since the first version of GBFS whose schemas check the string */
function stringKind(expected: string, matches: (text: string) => boolean, since: GbfsVersion = "1.0"): Kind {
  return {
    expected: () => expected,
    accepts: (value, version) => typeof value === "string" && (!isAtLeast(version, since) || matches(value)),
  };
}

/** The kind of any string. */
const anyString = (expected: string) => stringKind(expected, () => true);
/** The kind of a string that matches a pattern. */
const stringLike = (expected: string, pattern: RegExp, since?: GbfsVersion) =>
  stringKind(expected, (text) => pattern.test(text), since);

/**
 * Matches a scheme, a host and a path, a query and a fragment. Something other than a query or a fragment must follow the
 * scheme. Other characters must be percent-encoded. Accepts brackets around an IPv6 host alone, as the official schemas do.
 */
const URI =
  /^[a-z][a-z0-9+.-]*:(?![?#]|$)(?:\/\/\[[0-9a-f:.]+\])?(?:[a-z0-9\-._~!$&'()*+,;=:@/]|%[0-9a-f]{2})*(?:\?(?:[a-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*)?(?:#(?:[a-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*)?$/i;
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i;
/** Matches a time in RFC 3339 with any offset. `isDate` checks its date. */
const INSTANT = /^\d{4}-\d{2}-\d{2}[t ](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-]\d{2}(?::?\d{2})?)$/i;
/** Matches a time in RFC 3339 without a fraction of a second. */
const WHOLE_SECONDS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[+-]\d{2}:\d{2}|Z)$/;

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** Whether a name is that of a time zone, by name, because asking `Intl` takes long. */
const zones = new Map<string, boolean>();

function isTimeZone(name: string): boolean {
  const known = zones.get(name);
  if (known !== undefined) return known;
  // `Intl` accepts names in any letter case, and offsets such as +01:00.
  let isZone = /^[A-Z]/.test(name);
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    isZone = false;
  }
  zones.set(name, isZone);
  return isZone;
}

function isInBounds(value: number, version: GbfsVersion, { kind, min, max }: FieldType): boolean {
  // In 1.0, the only numbers without a maximum are prices, which may be negative.
  if (kind === "number" && max === undefined && !isAtLeast(version, "1.1")) return true;
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}

/** Describes the bounds of a number, as the end of its description. */
function bounds({ min, max }: FieldType): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return min === 0 ? ", 0 or more" : `, ${min} or more`;
  return "";
}

/** The kinds whose values are neither lists nor objects. */
const scalars = {
  string: anyString("a string"),
  id: anyString("an id, which is a string"),
  uri: stringLike("an address (URI) such as https://example.com", URI, "1.1"),
  email: stringLike("an email address", EMAIL, "1.1"),
  phone: stringLike("a phone number such as +4722001122", INTERNATIONAL_PHONE, "3.0"),
  date: stringKind("a date such as 2026-01-31", isDate),
  time: stringLike("a time such as 08:00:00", /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d$/, "1.1"),
  dateTime: stringKind("a time such as 2026-01-31T08:00:00Z", (text) => WHOLE_SECONDS.test(text)),
  language: stringLike("a language such as en or pt-BR", /^[a-z]{2,3}(?:-[A-Z]{2})?$/),
  timeZone: stringKind("a time zone of the IANA such as Europe/Oslo", isTimeZone, "2.0"),
  openingHours: anyString("hours in OpenStreetMap's syntax such as Mo-Su 05:00-24:00"),
  colour: stringLike("a colour such as #1a2b3c", /^#[a-fA-F0-9]{6}$/),
  currency: stringLike("a currency such as EUR", /^\w{3}$/),
  licence: stringLike("an identifier of the SPDX list such as CC-BY-4.0", /^[\w.+-]+$/),
  // The official schemas do not check the end of a country.
  country: stringLike("a country of two capitals such as NO", /^[A-Z]{2}/),
  instant: {
    expected: (version) =>
      isAtLeast(version, "3.0") ? "a time such as 2026-01-31T08:00:00Z" : "a time in whole seconds since 1970",
    accepts: (value, version) => {
      if (isAtLeast(version, "3.0"))
        return typeof value === "string" && INSTANT.test(value) && isDate(value.slice(0, 10));
      if (typeof value !== "number" || (isAtLeast(version, "2.3") && !Number.isInteger(value))) return false;
      return value >= (isAtLeast(version, "1.1") ? EARLIEST_SECONDS : 0);
    },
  },
  boolean: {
    expected: (version) => (isAtLeast(version, "2.0") ? "true or false" : "1 or 0"),
    accepts: (value, version) => {
      if (isAtLeast(version, "2.0")) return typeof value === "boolean";
      if (typeof value === "number") return !isAtLeast(version, "1.1") || (value >= 0 && value <= 1);
      return typeof value === "boolean" && !isAtLeast(version, "1.1");
    },
  },
  integer: {
    expected: (_, type) => `a whole number${bounds(type)}`,
    accepts: (value, version, type) =>
      typeof value === "number" && Number.isInteger(value) && isInBounds(value, version, type),
  },
  number: {
    expected: (_, type) => `a number${bounds(type)}`,
    accepts: (value, version, type) => typeof value === "number" && isInBounds(value, version, type),
  },
  oneOf: {
    expected: (version, type) => {
      const words = wordsIn(version, type);
      return words.length === 1 ? `"${words[0]}"` : `one of ${words.join(", ")}`;
    },
    accepts: (value, version, type) => typeof value === "string" && wordsIn(version, type).includes(value),
  },
} satisfies Partial<Record<FieldType["kind"], Kind>>;

// From GBFS 3.0 on, a value of the kind `text` or `textUri` is a list with one entry for each language: `texts3`, `uris3`.
const localText = {
  text: { type: { kind: "string" }, required: true },
  language: { type: { kind: "language" }, required: true },
} as const satisfies Fields;
const localUri = { ...localText, text: { type: { kind: "uri" }, required: true } } as const satisfies Fields;
const listOf = (item: FieldType, min?: number): FieldType => ({
  kind: "list",
  item,
  ...(min !== undefined && { min }),
});
const texts3 = listOf({ kind: "object", fields: localText }) as FieldType<readonly LocalText[]>;
const uris3 = listOf({ kind: "object", fields: localUri });
// Polygons, their rings of 4 points or more, and points of 2 numbers or more.
const coordinates = listOf(listOf(listOf(listOf({ kind: "number" }, 2), 4)));
const multiPolygon: FieldType = {
  kind: "object",
  fields: {
    type: { type: { kind: "oneOf", words: ["MultiPolygon"] }, required: true },
    coordinates: { type: coordinates, required: true },
  },
};

/** Returns a type as a version writes it: of lists, objects, counts and the kinds in `scalars` only. */
export function typeIn(version: GbfsVersion, type: FieldType): FieldType {
  const hasLanguages = isAtLeast(version, "3.0");
  if (type.kind === "text") return hasLanguages ? texts3 : { kind: "string" };
  if (type.kind === "textUri") return hasLanguages ? uris3 : { kind: "uri" };
  return type.kind === "multiPolygon" ? multiPolygon : type;
}

/**
 * Returns what is wrong with a value, as the end of a sentence; undefined: nothing. Does not check the items of a list and
 * the fields of an object.
 * @param type from `typeIn`
 */
export function valueIssue(
  value: unknown,
  version: GbfsVersion,
  type: FieldType,
): { readonly text: string; readonly fix: string } | undefined {
  const { kind, min = 0 } = type;
  if (kind === "list" && Array.isArray(value)) {
    if (value.length >= min || !isAtLeast(version, "1.1")) return undefined;
    return {
      text: `has ${value.length} items; GBFS ${version} requires ${min} at least`,
      fix: "Add the missing items, or leave the field out.",
    };
  }
  if ((kind === "object" || kind === "counts") && isObject(value)) return undefined;
  if (scalarOf(kind)?.accepts(value, version, type) === true) return undefined;
  const expected = expectedForm(version, type);
  if (value === null) {
    return {
      text: `is null; GBFS ${version} requires ${expected}`,
      fix: "Leave a field out where its value is not known.",
    };
  }
  const isQuoted = typeof value === "string" && NUMBERS.includes(kind);
  return {
    text: `is ${describe(value, version, type)}; GBFS ${version} requires ${expected}`,
    fix: isQuoted ? `Write ${expected}, without quotes.` : `Write ${expected}.`,
  };
}

/** Returns the form that a version requires, as the end of a sentence. @param type from `typeIn` */
export function expectedForm(version: GbfsVersion, type: FieldType): string {
  if (type === texts3 || type === uris3) return 'an array of texts such as [{"text": "…", "language": "en"}]';
  return scalarOf(type.kind)?.expected(version, type) ?? (type.kind === "list" ? "an array" : "an object");
}

/** Returns how a kind is tested; undefined: its values are lists or objects. */
function scalarOf(kind: FieldType["kind"]): Kind | undefined {
  return Object.hasOwn(scalars, kind) ? scalars[kind as keyof typeof scalars] : undefined;
}

const NUMBERS: readonly FieldType["kind"][] = ["integer", "number"];

/** Describes a value without quoting it, so that equal problems are counted together. */
function describe(value: unknown, version: GbfsVersion, { kind }: FieldType): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "boolean") return "true or false";
  const isNumber = NUMBERS.includes(kind) || (kind === "instant" && !isAtLeast(version, "3.0"));
  if (typeof value === "string") {
    if (value === "") return "empty";
    if (isNumber || kind === "boolean" || kind === "list" || kind === "object") return "a string";
    return kind === "oneOf" ? "not a known value" : "a string of another form";
  }
  if (typeof value !== "number") return "an object";
  if (!isNumber) return "a number";
  return Number.isInteger(value) ? "out of bounds" : "a number with decimals or out of bounds";
}
