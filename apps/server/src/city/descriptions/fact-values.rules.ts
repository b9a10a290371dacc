import { type Fields, type FieldType, INTERNATIONAL_PHONE, isPathStep, type LocalText } from "@bikeshare/contract";
import licences from "spdx-license-ids/index.json" with { type: "json" };
import { emailFrom, languageFrom, timeZoneFrom } from "./lenient-values.rules.ts";
import { multiPolygonIssue } from "./multi-polygon.rules.ts";
import { openingHoursFrom } from "./opening-hours.rules.ts";

/*
 * Parses and checks the values of facts that an operator sets for GBFS. Rejects a value that GBFS does not allow, and says
 * what the value must be. `readFactValue` chooses the rule by the kind of the field.
 */

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
