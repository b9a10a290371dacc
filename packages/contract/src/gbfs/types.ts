// The types of GBFS fields and their versions. feeds.ts describes every feed with them, and facts.ts every fact.

/** Every version of GBFS that the service reads or checks, oldest first. */
export const gbfsVersions = ["1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "3.0", "3.1-RC3"] as const;

export type GbfsVersion = (typeof gbfsVersions)[number];

/** A phone number as GBFS takes it since 3.0: by E.164, such as +4722001122. */
export const INTERNATIONAL_PHONE = /^\+[1-9]\d{1,14}$/;

/** A text in one language. */
export interface LocalText {
  readonly text: string;
  /** A BCP 47 tag in the form of GBFS: a language, and optionally a country. */
  readonly language: string;
}

/**
 * A GeoJSON MultiPolygon: polygons of closed rings of `[longitude, latitude]`. The first ring of each is the outer one.
 */
export interface MultiPolygon {
  readonly type: "MultiPolygon";
  readonly coordinates: readonly (readonly (readonly (readonly number[])[])[])[];
}

/**
 * The type of a field. `Value` is the canonical value: the value in the form of GBFS 3.1, also for documents of older
 * versions. All versions write a kind in the same way, unless the kind's comment says otherwise.
 */
export interface FieldType<Value = unknown> {
  readonly kind:
    | "string"
    | "id"
    | "uri"
    | "email"
    | "phone" // E.164 since 3.0; any text before
    | "date" // 2026-01-31
    | "time" // 08:00:00
    | "dateTime" // RFC 3339 in every version
    | "language"
    | "timeZone" // of the IANA
    | "openingHours" // OpenStreetMap's `opening_hours`
    | "colour" // #1a2b3c
    | "currency" // ISO 4217
    | "licence" // an SPDX identifier
    | "country" // ISO 3166-1, two letters
    | "text" // a string up to 2.3, `LocalText[]` since 3.0
    | "textUri" // like `text`, for a URI
    | "instant" // POSIX seconds up to 2.3, RFC 3339 since 3.0
    | "boolean" // 0 or 1 before 2.0
    | "integer"
    | "number"
    | "oneOf"
    | "list"
    | "object"
    | "counts" // numbers by the id of a vehicle type
    | "multiPolygon";
  /** For a number: its bounds. For a list: its minimum length. */
  readonly min?: number;
  readonly max?: number;
  /** For `oneOf`: the words. */
  readonly words?: readonly string[];
  /** For `oneOf`: the first version of each word that is not in every version. */
  readonly wordsSince?: Readonly<Record<string, GbfsVersion>>;
  /** For `oneOf`: spellings of old versions, each with its newest word. */
  readonly oldWords?: Readonly<Record<string, string>>;
  /** The last version with `oldWords`. */
  readonly oldWordsUntil?: GbfsVersion;
  /** For a list: the type of its items. */
  readonly item?: FieldType;
  /** For an object: its fields. */
  readonly fields?: Fields;
  /** Never set. It carries the type of the value. */
  readonly value?: Value;
}

/** A field of a record. */
export interface Field<Value = unknown> {
  readonly type: FieldType<Value>;
  /** The first and the last version with the field; absent: the first or last version of all. */
  readonly since?: GbfsVersion;
  readonly until?: GbfsVersion;
  /** Whether every version with the field requires it, or only those since or until a version. */
  readonly required?: true | { readonly since: GbfsVersion } | { readonly until: GbfsVersion };
}

export type Fields = Readonly<Record<string, Field>>;

/** An object in canonical form. GBFS has no null: an unknown field is absent or undefined. */
export type ValueOf<Of extends Fields> = {
  readonly [Name in keyof Of]?: (Of[Name] extends Field<infer Value> ? Value : never) | undefined;
};

const scalar = <Value = string>(kind: FieldType["kind"]): FieldType<Value> => ({ kind });

export const string = scalar("string");
export const id = scalar("id");
export const uri = scalar("uri");
export const email = scalar("email");
export const phone = scalar("phone");
export const date = scalar("date");
export const time = scalar("time");
export const dateTime = scalar("dateTime");
export const language = scalar("language");
export const timeZone = scalar("timeZone");
export const openingHours = scalar("openingHours");
export const colour = scalar("colour");
export const currency = scalar("currency");
export const licence = scalar("licence");
export const country = scalar("country");
export const text = scalar<readonly LocalText[]>("text");
export const textUri = scalar<readonly LocalText[]>("textUri");
export const instant = scalar("instant");
export const boolean = scalar<boolean>("boolean");
export const counts = scalar<Readonly<Record<string, number>>>("counts");
export const multiPolygon = scalar<MultiPolygon>("multiPolygon");

/** A whole number within bounds. An omitted bound is not checked. */
export const integer = (min?: number, max?: number): FieldType<number> => numeric("integer", min, max);
export const number = (min?: number, max?: number): FieldType<number> => numeric("number", min, max);

function numeric(kind: "integer" | "number", min?: number, max?: number): FieldType<number> {
  return { kind, ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
}

/** Words that not every version has: new words by their first version, and replaced spellings. */
interface WordsOfVersions<Word extends string> {
  readonly since?: { readonly [Each in Word]?: GbfsVersion };
  readonly old?: { readonly until: GbfsVersion; readonly words: Readonly<Record<string, Word>> };
}

/** Returns the type of a field that has one of some words. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  { since, old }: WordsOfVersions<Word> = {},
): FieldType<Word> {
  return {
    kind: "oneOf",
    words,
    ...(since && { wordsSince: since as Readonly<Record<string, GbfsVersion>> }), // its keys are among the words
    ...(old && { oldWords: old.words, oldWordsUntil: old.until }),
  };
}

/** Returns the words that a version accepts. */
export function wordsIn(
  version: GbfsVersion,
  { words = [], wordsSince, oldWords, oldWordsUntil }: FieldType,
): string[] {
  const now = words.filter((word) => isBetween(version, wordsSince?.[word], undefined));
  return isBetween(version, undefined, oldWordsUntil) ? [...now, ...Object.keys(oldWords ?? {})] : now;
}

/** Returns the type of a list. @param min its minimum length; default: it may be empty */
export function list<Item>(item: FieldType<Item>, min?: number): FieldType<readonly Item[]> {
  return { kind: "list", item, ...(min !== undefined && { min }) };
}

/** Returns the type of an object with these fields. */
export function object<const Of extends Fields>(fields: Of): FieldType<ValueOf<Of>> {
  return { kind: "object", fields };
}

/** Tells whether a version has a field. */
export function hasField(version: GbfsVersion, { since, until }: Field): boolean {
  return isBetween(version, since, until);
}

/** Tells whether a version requires a field. */
export function requiresField(version: GbfsVersion, field: Field): boolean {
  const { required } = field;
  if (required === undefined || !hasField(version, field)) return false;
  if (required === true) return true;
  return "since" in required
    ? isBetween(version, required.since, undefined)
    : isBetween(version, undefined, required.until);
}

/** Tells whether one version is the same as another, or newer. */
export function isAtLeast(version: GbfsVersion, other: GbfsVersion): boolean {
  return gbfsVersions.indexOf(version) >= gbfsVersions.indexOf(other);
}

function isBetween(version: GbfsVersion, since: GbfsVersion | undefined, until: GbfsVersion | undefined): boolean {
  return (since === undefined || isAtLeast(version, since)) && (until === undefined || isAtLeast(until, version));
}
