/**
 * Converts between facts (the values that GBFS publishes about a thing) and the drafts that a form holds. A draft has
 * the structure of its fact, but holds numbers and GeoJSON as typed text, and may have empty values. The service
 * validates what is sent.
 */
import type { Facts, Fields, FieldType, LocalText } from "@bikeshare/contract/facts";
import { multiPolygonFrom } from "./geojson.ts";
import { fieldOf, itemsOf, jsonOf } from "./json-parts.ts";

/** Returns the draft of a fact; undefined if the fact is not set. */
export function draftOf(type: FieldType, value: unknown): unknown {
  if (value === undefined) return undefined;
  switch (type.kind) {
    case "integer":
    case "number":
    case "multiPolygon":
      return JSON.stringify(value);
    case "list":
      return itemsOf(value).map((item) => (type.item === undefined ? item : draftOf(type.item, item)));
    case "object":
      return mapFields(type.fields, value, draftOf);
    default:
      return value;
  }
}

/** A number whose comma may separate thousands or decimals: 25,000. */
const AMBIGUOUS = /^[+-]?[1-9]\d{0,2},\d{3}$/;

/** Returns the fact of a draft; undefined if the draft is empty. */
export function valueOf(type: FieldType, draft: unknown): unknown {
  if (draft === undefined || draft === "") return undefined;
  switch (type.kind) {
    case "integer":
    case "number": {
      const text = (draft as string).trim();
      if (text === "") return undefined;
      // Accepts a decimal comma. Other text is returned as it is: `unreadNumbers` or the service rejects it.
      const number = AMBIGUOUS.test(text) ? Number.NaN : Number(text.replace(",", "."));
      return Number.isFinite(number) ? number : text;
    }
    case "multiPolygon":
      return multiPolygonFrom(jsonOf(draft as string));
    case "text":
    case "textUri": {
      const texts = (draft as readonly LocalText[]).filter(({ text }) => text.trim() !== "");
      return texts.length === 0 ? undefined : texts;
    }
    case "list": {
      const { item } = type;
      const items = itemsOf(draft).map((each) => (item === undefined ? each : valueOf(item, each)));
      const given = items.filter((each) => each !== undefined);
      return given.length === 0 ? undefined : given;
    }
    case "object": {
      const fields = Object.entries(mapFields(type.fields, draft, valueOf));
      return fields.length === 0 ? undefined : Object.fromEntries(fields);
    }
    default:
      return typeof draft === "string" ? draft.trim() || undefined : draft;
  }
}

/** An issue with a fact: its path and a message. The form shows it as it shows a `Refusal` of the service. */
interface Unready {
  readonly path: string;
  readonly message: string;
}

/**
 * Returns all issues that can be found before sending. The service would report only one at a time.
 * @param published the values that apply for facts without a draft
 */
export function unreadyOf(
  facts: Facts,
  published: Readonly<Record<string, unknown>>,
  drafts: Readonly<Record<string, unknown>>,
): readonly Unready[] {
  return Object.entries(facts).flatMap(([path, { type, about, required }]) => {
    const value = valueOf(type, drafts[path]);
    if (required === true && (value ?? published[path]) === undefined)
      return [{ path, message: `Must be given: ${about}` }];
    return unreadNumbers(type, path, drafts[path]);
  });
}

/** Returns the issues of the numbers in a draft or value that cannot be read, also within its lists and objects. */
export function unreadNumbers(type: FieldType, path: string, draft: unknown): readonly Unready[] {
  const { kind, item, fields = {} } = type;
  if (kind === "integer" || kind === "number") {
    const value = typeof draft === "string" ? valueOf(type, draft) : undefined;
    return typeof value === "string" ? [{ path, message: `Cannot be "${value}": write a number as 25000 or 2.5` }] : [];
  }
  if (item !== undefined)
    return itemsOf(draft).flatMap((each, index) => unreadNumbers(item, `${path}[${index}]`, each));
  return Object.entries(fields).flatMap(([name, part]) =>
    unreadNumbers(part.type, `${path}.${name}`, fieldOf(draft, name)),
  );
}

/** Applies `map` to the fields that the type has. Omits fields that become undefined. */
function mapFields(fields: Fields = {}, value: unknown, map: (type: FieldType, value: unknown) => unknown): object {
  const mapped = Object.entries(fields).map(([name, { type }]) => [name, map(type, fieldOf(value, name))] as const);
  return Object.fromEntries(mapped.filter(([, each]) => each !== undefined));
}
