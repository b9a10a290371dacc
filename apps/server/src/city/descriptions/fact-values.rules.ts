import { type Fields, type FieldType, INTERNATIONAL_PHONE, isPathStep, type LocalText } from "@bikeshare/contract";
import licences from "spdx-license-ids/index.json" with { type: "json" };
import { emailFrom, languageFrom, timeZoneFrom } from "./lenient-values.rules.ts";

/*
 * This file parses and checks the values of facts that an operator sets for GBFS: first opening hours, then areas
 * (MultiPolygons), then all others. Opening hours are OpenStreetMap's `opening_hours`, which GBFS 3.0 uses. Their words,
 * the order of the words and the times are checked, but not holidays, which differ between countries.
 */

// `(?!\d|:\d)` after a number leaves the number to a time that it begins: the 10 of `Apr 10:00-12:00` is no day.

const DAY = "(?:Mo|Tu|We|Th|Fr|Sa|Su)";
/** `easter +1 day` */
const OFFSET = "(?: [+-]\\d{1,3} days?)?";
/** `Mo-Fr`, `Sa[1,-1]` (the first and the last of a month), `PH` and `SH` (public and school holidays) */
const DAYS = listOf(`(?:${DAY}(?:-${DAY}|\\[-?\\d(?:[-,]-?\\d)*\\])?|PH|SH)${OFFSET}`);
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
/** `Apr`, `Apr 15`, `2026 Apr 15` */
const DATE = `(?:(?:\\d{4} )?(?:${MONTH}(?: (?:0?[1-9]|[12]\\d|3[01])(?!\\d|:\\d))?|easter)${OFFSET})`;
/** `Apr-Oct`, `Apr 1-15`, `Apr 15+` (from then on) */
const DATES = listOf(`${DATE}(?: ?- ?(?:${DATE}|(?:0?[1-9]|[12]\\d|3[01])(?!\\d|:\\d))|\\+)?`);
/** `2026`, `2026-2030/2` (every second year), `2026+` */
const YEARS = listOf("\\d{4}(?!\\d|:\\d)(?:-\\d{4}(?:/\\d)?|\\+)?");
/** `week 1-53/2` */
const WEEKS = `week ?${listOf("\\d{1,2}(?:-\\d{1,2}(?:/\\d{1,2})?)?")}`;
/** Up to 48:00: hours above 24 are on the next day. */
const HOUR = "(?:[0-3]?\\d|4[0-8]):[0-5]\\d";
const SUN = "(?:sunrise|sunset|dawn|dusk)";
/** `10:00`, `sunset`, `(sunset-01:00)` */
const TIME = `(?:${HOUR}|${SUN}|\\(${SUN}[+-]${HOUR}\\))`;
/** `24/7`, `10:00-12:00,14:00-18:00`, `10:00+` (from then on) */
const TIMES = `(?:24/7|${listOf(`${TIME}(?: ?- ?${TIME}\\+?|\\+)`)})`;

/** Returns a pattern for one or more items with commas between. */
function listOf(item: string): string {
  return `(?:${item}(?: ?, ?${item})*)`;
}

/** The parts of a rule in their order; each is optional. No letter or digit may follow a part. */
const parts = [YEARS, DATES, WEEKS, ":", DAYS, TIMES, "(?:off|closed|open|unknown)", '"[^"]*"'].map(
  (part) => new RegExp(`${part}(?![A-Za-z0-9])`, "y"),
);
const BETWEEN_RULES = /\s*(?:;|\|\||,)\s*/y;
const SPACE = /\s*/y;

/** Maximum characters, as in OpenStreetMap. */
const MAX_LENGTH = 255;

/** Returns opening hours without superfluous spaces; undefined for an invalid text. */
export function openingHoursFrom(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim().replaceAll(/ {2,}/g, " ");
  return text.length <= MAX_LENGTH && areRules(text) ? text : undefined;
}

/** Tells whether a text consists of rules. Takes one part after another from the text, always at the index `at`. */
function areRules(text: string): boolean {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const isFound = pattern.test(text);
    if (isFound) at = pattern.lastIndex;
    return isFound;
  };
  for (;;) {
    let found = 0;
    for (const part of parts) {
      if (take(part)) found++;
      take(SPACE);
    }
    if (found === 0) return false;
    if (at === text.length) return true;
    if (!take(BETWEEN_RULES)) return false;
    // The last rule may end with a semicolon.
    if (at === text.length) return text.endsWith(";");
  }
}

/** A GeoJSON position: `[longitude, latitude]`, and optionally a height. */
type Position = readonly number[];

/** Maximum points of a MultiPolygon. Too high: comparing its edges pairwise delays other requests. */
const MAX_POINTS = 5_000;

/**
 * Returns what an invalid value must be instead, as a phrase for `FactIssue`; undefined for a valid MultiPolygon. Consumers
 * need closed rings without crossings, and holes inside their polygon.
 */
function multiPolygonIssue(value: unknown): string | undefined {
  const { type, coordinates } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if (type !== "MultiPolygon" || !Array.isArray(coordinates) || coordinates.length === 0) {
    return 'GeoJSON of type MultiPolygon, such as {"type":"MultiPolygon","coordinates":[[[[10.7,59.9],…]]]}';
  }
  let points = 0;
  for (const polygon of coordinates as readonly unknown[]) {
    if (!Array.isArray(polygon) || polygon.length === 0) return "polygons of one or more rings";
    for (const ring of polygon as readonly unknown[]) {
      const issue = ringIssue(ring);
      if (issue !== undefined) return issue;
      points += (ring as readonly unknown[]).length;
      if (points > MAX_POINTS) return `of up to ${MAX_POINTS} points`;
    }
  }
  const polygons = coordinates as readonly (readonly (readonly Position[])[])[];
  return polygons.some(hasCrossing) ? "rings that neither cross themselves nor each other" : holeIssue(polygons);
}

/** Returns what an invalid ring must be instead; undefined for a closed ring of valid positions. */
function ringIssue(ring: unknown): string | undefined {
  if (!Array.isArray(ring) || ring.length < 4) return "rings of four or more positions, the last equal to the first";
  const isPosition = (each: unknown): each is Position =>
    Array.isArray(each) &&
    (each.length === 2 || each.length === 3) &&
    each.every((degrees) => typeof degrees === "number" && Number.isFinite(degrees)) &&
    Math.abs(each[0] as number) <= 180 &&
    Math.abs(each[1] as number) <= 90;
  if (!ring.every(isPosition)) return "positions of [longitude, latitude] in WGS 84 degrees";
  const positions: readonly Position[] = ring;
  return samePlace(positions[0], positions.at(-1)) ? undefined : "closed rings: the last position equal to the first";
}

/** One edge of a polygon's ring. */
interface Edge {
  readonly from: Position;
  readonly to: Position;
  /** The index of the ring in its polygon. */
  readonly ring: number;
  /** The index of the edge in its ring, and that of the ring's last edge. */
  readonly at: number;
  readonly last: number;
}

/** Tells whether two edges of a polygon's rings cross. Sorts edges from west to east, so that it compares few pairs. */
function hasCrossing(rings: readonly (readonly Position[])[]): boolean {
  const edges = rings.flatMap((positions, ring) =>
    positions
      .slice(1)
      .map((to, at): Edge => ({ from: positions[at] ?? to, to, ring, at, last: positions.length - 2 }))
      .filter(({ from, to }) => !samePlace(from, to)),
  );
  const west = ({ from, to }: Edge) => Math.min(x(from), x(to));
  const east = ({ from, to }: Edge) => Math.max(x(from), x(to));
  const sorted = edges.toSorted((a, b) => west(a) - west(b));
  return sorted.some((edge, index) => {
    for (let next = index + 1; next < sorted.length; next++) {
      const other = sorted[next];
      if (other === undefined || west(other) > east(edge)) return false;
      if (!areNeighbours(edge, other) && cross(edge, other)) return true;
    }
    return false;
  });
}

/** Tells whether two edges follow each other in a ring, and so share a position. */
function areNeighbours(a: Edge, b: Edge): boolean {
  if (a.ring !== b.ring) return false;
  const distance = Math.abs(a.at - b.at);
  return distance <= 1 || distance === a.last;
}

/** Tells whether each edge's ends lie on different sides of the other edge. Edges that only touch do not cross. */
function cross(a: Edge, b: Edge): boolean {
  const sides = [side(a, b.from), side(a, b.to), side(b, a.from), side(b, a.to)] as const;
  return sides[0] * sides[1] < 0 && sides[2] * sides[3] < 0;
}

/** Tells whether a position lies on an edge, its ends included. */
function isOn(edge: Pick<Edge, "from" | "to">, position: Position): boolean {
  const { from, to } = edge;
  const isBetween = (at: (each: Position) => number) =>
    Math.min(at(from), at(to)) <= at(position) && at(position) <= Math.max(at(from), at(to));
  return side(edge, position) === 0 && isBetween(x) && isBetween(y);
}

/** Returns the side of an edge on which a position lies, as a sign; 0: it lies on the line through the edge. */
function side({ from, to }: Pick<Edge, "from" | "to">, position: Position): number {
  return Math.sign((x(to) - x(from)) * (y(position) - y(from)) - (y(to) - y(from)) * (x(position) - x(from)));
}

/** Checks the holes of polygons whose rings do not cross, but may touch: each position of a hole must be inside. */
function holeIssue(polygons: readonly (readonly (readonly Position[])[])[]): string | undefined {
  const isOutside = polygons.some(([outer = [], ...holes]) =>
    holes.some((hole) => !hole.every((position) => contains(outer, position))),
  );
  return isOutside ? "holes that lie inside their polygon's first ring" : undefined;
}

/**
 * Tells whether a position is inside a ring or on one of its edges. A position is inside if a line from it to the east
 * crosses an odd number of the ring's edges.
 */
function contains(ring: readonly Position[], position: Position): boolean {
  let isInside = false;
  for (let at = 1; at < ring.length; at++) {
    const [from = position, to = position] = [ring[at - 1], ring[at]];
    if (isOn({ from, to }, position)) return true;
    // Both ends of the edge are north of the position, or neither is: the line does not cross it.
    if (y(from) > y(position) === y(to) > y(position)) continue;
    const crossing = x(from) + ((y(position) - y(from)) / (y(to) - y(from))) * (x(to) - x(from));
    if (x(position) < crossing) isInside = !isInside;
  }
  return isInside;
}

/** Tells whether two positions are equal; their heights do not count. */
function samePlace(a: Position | undefined, b: Position | undefined): boolean {
  return a !== undefined && b !== undefined && x(a) === x(b) && y(a) === y(b);
}

const x = (position: Position): number => position[0] ?? 0;
const y = (position: Position): number => position[1] ?? 0;

// The rest of this file parses facts that an operator sets. It rejects a value that GBFS does not allow, and says what the
// value must be.

/** The reason why a value is rejected. */
export class FactIssue extends Error {
  override readonly name = "FactIssue";
  /** The path of the field within the fact: `ios.store_uri`. */
  readonly path: string;
  readonly value: unknown;
  /** What the value must be. */
  readonly expected: string;

  constructor(path: string, value: unknown, expected: string) {
    super(`${path} must be ${expected}`);
    this.path = path;
    this.value = value;
    this.expected = expected;
  }
}

/** Maximum characters of a line, a text and an address. Too high: one fact fills every document. */
const MAX_LINE_LENGTH = 255;
const MAX_TEXT_LENGTH = 2_000;
const MAX_URI_LENGTH = 2_000;
/** Maximum items of a list. Too high: one fact fills every document. */
const MAX_ITEMS = 1_000;
const WEB_ADDRESS = "an address that begins with https:// or http://";
const ID = `an id of up to ${MAX_LINE_LENGTH} visible ASCII characters`;
/** The greatest number that consumers in Java and C++ read into an `int`. */
const MAX_NUMBER = 2_147_483_647;

/**
 * Returns a fact's value in canonical form.
 * @param path the field's name
 * @param language the language of texts that name none
 * @throws FactIssue
 */
export function readFactValue(type: FieldType, value: unknown, path: string, language: string): unknown {
  const refuse = (expected: string): never => {
    throw new FactIssue(path, value, expected);
  };
  switch (type.kind) {
    case "list":
      return readList(type, value, path, language);
    case "object":
      return readObject(type.fields ?? {}, value, path, language);
    case "text":
    case "textUri":
      return readText(type.kind, value, path, language);
    case "boolean":
      return typeof value === "boolean" ? value : refuse("true or false");
    case "integer":
    case "number": {
      const { min = -MAX_NUMBER, max = MAX_NUMBER } = type;
      const isNumber = typeof value === "number" && value >= min && value <= max;
      const isFit = isNumber && (type.kind === "number" || Number.isInteger(value));
      return isFit ? value : refuse(`${type.kind === "integer" ? "a whole number" : "a number"} from ${min} to ${max}`);
    }
    case "multiPolygon": {
      const issue = multiPolygonIssue(value);
      return issue === undefined ? value : refuse(issue);
    }
    // Only feeds of GBFS before 3.0 have such fields. An operator cannot set them.
    case "counts":
      return refuse("left out");
    default: {
      const [read, expected] = ruleOf(type, path);
      const text = typeof value === "string" ? value.trim() : undefined;
      return (text === undefined ? undefined : read(text)) ?? refuse(expected);
    }
  }
}

/** Parses a text (undefined: it is invalid), and says what a valid one must be. */
type TextRule = readonly [read: (text: string) => string | undefined, expected: string];

const asIs = (pattern: RegExp) => (text: string) => (pattern.test(text) ? text : undefined);

const lineRule: TextRule = [lineFrom, `one line of up to ${MAX_LINE_LENGTH} characters`];

/** The rules for values that are a single text, by their kind. `lineRule` is that of all other kinds. */
const textRules: { readonly [Kind in FieldType["kind"]]?: TextRule } = {
  id: [idFrom, ID],
  email: [emailFrom, "a mail address such as feeds@bikes.example"],
  phone: [asIs(INTERNATIONAL_PHONE), "a phone number with its country, without spaces, such as +4722001122"],
  date: [dateFrom, "a day such as 2026-01-31"],
  time: [asIs(/^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/), "a time such as 08:00:00"],
  dateTime: [instantFrom, "an instant such as 2026-01-31T08:00:00Z"],
  instant: [instantFrom, "an instant such as 2026-01-31T08:00:00Z"],
  language: [strictLanguageFrom, "a BCP 47 language tag such as nb or en-GB"],
  timeZone: [regionalZone, "an IANA time zone such as Europe/Oslo"],
  openingHours: [openingHoursFrom, "hours as OpenStreetMap writes them, such as Mo-Su 05:00-24:00"],
  colour: [asIs(/^#[0-9a-fA-F]{6}$/), "a colour such as #1a2b3c"],
  currency: [currencyFrom, "one currency of ISO 4217, such as EUR"],
  licence: [licenceFrom, "an SPDX identifier such as CC-BY-4.0, or the address of the licence"],
};

/** Fields whose addresses open an app, and may have the app's own scheme. */
const APP_FIELD = /(^|\.)(ios|android|discovery_uri)$/;

/** Returns the rule for a field whose value is a single text. */
function ruleOf({ kind, words = [] }: FieldType, path: string): TextRule {
  if (kind === "oneOf") return [(text) => words.find((word) => word === text), `one of ${words.join(", ")}`];
  if (kind !== "uri") return textRules[kind] ?? lineRule;
  return APP_FIELD.test(path)
    ? [appAddressFrom, "an address such as https://bikes.example/open or bikes://open"]
    : [webAddressFrom, WEB_ADDRESS];
}

/** Parses a list, in which no text may occur twice. @throws FactIssue */
function readList({ item, min = 0 }: FieldType, value: unknown, path: string, language: string): readonly unknown[] {
  if (item === undefined || !Array.isArray(value)) throw new FactIssue(path, value, "a list");
  if (value.length < min || value.length > MAX_ITEMS) {
    throw new FactIssue(path, `${value.length} items`, `a list of ${min} to ${MAX_ITEMS} items`);
  }
  const items = value.map((each: unknown, index) => readFactValue(item, each, `${path}[${index}]`, language));
  const twice = items.find((each, index) => typeof each === "string" && items.indexOf(each) < index);
  if (twice !== undefined) throw new FactIssue(path, twice, "a list that names nothing twice");
  return items;
}

/** Parses an object with these fields. A field with `until` exists in older versions of GBFS only. @throws FactIssue */
function readObject(fields: Fields, value: unknown, path: string, language: string): object {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new FactIssue(path, value, "an object");
  const given = Object.entries(value).filter(([, each]) => each !== undefined && each !== null);
  const unknown = given.find(([name]) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    throw new FactIssue(`${path}.${unknown[0]}`, unknown[1], `left out: there are ${Object.keys(fields).join(", ")}`);
  }
  const missing = Object.entries(fields).find(
    ([name, { required, until }]) =>
      required !== undefined && until === undefined && !given.some(([each]) => each === name),
  );
  if (missing !== undefined) throw new FactIssue(`${path}.${missing[0]}`, undefined, "given");
  const read = given.map(([name, each]) => {
    const field = fields[name];
    return [name, field && readFactValue(field.type, each, `${path}.${name}`, language)];
  });
  return Object.fromEntries(read) as object;
}

/**
 * Parses a string in the given language, or a list of texts with their languages.
 * @param kind `textUri`: each text is an address
 * @throws FactIssue
 */
function readText(kind: "text" | "textUri", value: unknown, path: string, language: string): readonly LocalText[] {
  const list: unknown = typeof value === "string" ? [{ text: value, language }] : value;
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_ITEMS) {
    throw new FactIssue(path, value, 'a text, or a list such as [{"text": "City bikes", "language": "en"}]');
  }
  const readLocal = (text: string) => (kind === "text" ? textFrom(text) : webAddressFrom(text.trim()));
  const texts = list.map((each: unknown) => {
    const { text, language: tag } = (typeof each === "object" && each !== null ? each : {}) as Partial<LocalText>;
    const read = typeof text === "string" ? readLocal(text) : undefined;
    const spoken = typeof tag === "string" ? strictLanguageFrom(tag) : undefined;
    if (spoken === undefined)
      throw new FactIssue(path, tag, "texts with a BCP 47 language tag each, such as nb or en-GB");
    if (read !== undefined) return { text: read, language: spoken };
    const expected = kind === "text" ? `a text of up to ${MAX_TEXT_LENGTH} characters` : WEB_ADDRESS;
    throw new FactIssue(path, text, expected);
  });
  const languages = texts.map((text) => text.language);
  const twice = languages.find((tag, index) => languages.indexOf(tag) < index);
  if (twice !== undefined) throw new FactIssue(path, twice, "one text in each language");
  return texts;
}

/** Returns a text of one line: without control characters, separators of lines and halves of surrogate pairs. */
function lineFrom(text: string): string | undefined {
  const isLine = text !== "" && text.length <= MAX_LINE_LENGTH && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text);
  return isLine ? text : undefined;
}

/** Returns a text, which may have several lines but no other control characters. */
function textFrom(text: string): string | undefined {
  const trimmed = text.trim();
  const isFit = trimmed !== "" && trimmed.length <= MAX_TEXT_LENGTH && trimmed.isWellFormed();
  // The expression matches a control character other than the two listed.
  return isFit && !/[^\P{Cc}\n\t]/u.test(trimmed) ? trimmed : undefined;
}

/** Checks the id of a new thing. @throws FactIssue for an id that GBFS 3.0 or a URL's path cannot contain */
export function requireId(id: string): void {
  if (idFrom(id) === undefined) throw new FactIssue("id", id, ID);
}

/** Returns an id of visible ASCII characters that a URL's path can contain (`.` and `..` would change the path). */
function idFrom(text: string): string | undefined {
  return /^[!-~]{1,255}$/.test(text) && !isPathStep(text) ? text : undefined;
}

/** Returns a day that exists: not 2026-02-30. */
function dateFrom(text: string): string | undefined {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);
  return isDate === true ? text : undefined;
}

/** Returns an instant in UTC, to the second. */
function instantFrom(text: string): string | undefined {
  const isInstant =
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text) &&
    dateFrom(text.slice(0, 10)) !== undefined;
  const at = isInstant ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Rejects zones such as `EST`, which are fixed offsets: an operator who enters one means a region with summer time. */
function regionalZone(text: string): string | undefined {
  const zone = timeZoneFrom(text);
  return zone !== undefined && (zone === "UTC" || /^\w+\/./.test(text)) ? zone : undefined;
}

/** Returns a well-formed language tag, reduced to its language and country. */
function strictLanguageFrom(text: string): string | undefined {
  try {
    // `Intl` checks whether the tag is well-formed; GBFS takes its language and country.
    const [canonical] = Intl.getCanonicalLocales(text.trim().replaceAll("_", "-"));
    return languageFrom(canonical);
  } catch {
    return undefined;
  }
}

const currencies = new Set(Intl.supportedValuesOf("currency"));

/** Returns a currency's code in capitals. */
function currencyFrom(text: string): string | undefined {
  return currencies.has(text.toUpperCase()) ? text.toUpperCase() : undefined;
}

/** Schemes that run code, or read from the reader's own machine. */
const UNSAFE_SCHEME = /^(javascript|data|vbscript|file|blob|about|view-source):/i;

/** Returns an address of any scheme but the unsafe ones, without a name and password. */
function appAddressFrom(text: string): string | undefined {
  const url = text.length <= MAX_URI_LENGTH && !/\s/.test(text) ? URL.parse(text) : null;
  return url !== null && !UNSAFE_SCHEME.test(url.protocol) && url.username === "" && url.password === ""
    ? text
    : undefined;
}

/** Returns an address that begins with https:// or http://. */
function webAddressFrom(text: string): string | undefined {
  return /^https?:\/\//i.test(text) && appAddressFrom(text) !== undefined ? text : undefined;
}

/** Licences of the SPDX list version that GBFS 3.0 refers to. A newer licence must be set by its address. */
const licenceByLowerCase = new Map(licences.map((id) => [id.toLowerCase(), id]));

/** Returns a licence's SPDX identifier in its canonical spelling, or the licence's address. */
function licenceFrom(text: string): string | undefined {
  return licenceByLowerCase.get(text.toLowerCase()) ?? webAddressFrom(text);
}
