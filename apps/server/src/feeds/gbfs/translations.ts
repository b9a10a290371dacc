import { type Field, type GbfsFeed, gbfsFeeds, type GbfsFeedName } from "@bikeshare/contract";
import { languageFrom } from "../../city/descriptions/lenient-values.rules.ts";
import { parseBounded } from "./bounded-json.ts";
import { DEFAULT_LANGUAGE } from "./feed.ts";
import { identifierFrom, isObject, type JsonObject, textFrom } from "./values.ts";

// Before 3.0 a feed has one document for each language. Its texts become those of one document, as 3.0 writes them.

/** Maximum languages besides the first. Too high: a feed of many languages costs as many requests a poll. */
export const MAX_TRANSLATIONS = 5;

/** The same document in another language. */
export interface Translation {
  readonly language: string;
  readonly bytes: Uint8Array;
}

interface Texts {
  /** The list of records; absent where `data` itself has the texts. */
  readonly list?: string;
  readonly id?: string;
  readonly fields: readonly string[];
}

/** Returns where a feed has texts; undefined: it has none, or records without ids, which no two documents share. */
function textsOf(name: string): Texts | undefined {
  if (!Object.hasOwn(gbfsFeeds, name)) return undefined;
  const { fields, records }: GbfsFeed = gbfsFeeds[name as GbfsFeedName];
  const isSystem = name === "system_information";
  const ofRecord = isSystem ? fields : records && fields[records.list]?.type.item?.fields;
  const isText = ([, { type }]: readonly [string, Field]) => type.kind === "text" || type.kind === "textUri";
  const texts = Object.entries(ofRecord ?? {})
    .filter(isText)
    .map(([field]) => field);
  if (texts.length === 0) return undefined;
  return { fields: texts, ...(!isSystem && records && { list: records.list, id: records.id }) };
}

/** Tells whether a feed is read in every language. */
export function hasTranslations(name: string): boolean {
  return textsOf(name) !== undefined;
}

/**
 * Returns a document whose texts are in several languages. A text that all languages share stays as it is: then nobody
 * has translated it. A translation that cannot be read is left out.
 * @param language of the document's texts, where `data` names none
 */
export function translated(
  name: string,
  document: unknown,
  translations: readonly Translation[],
  language: string = DEFAULT_LANGUAGE,
): unknown {
  const texts = textsOf(name);
  if (texts === undefined || translations.length === 0 || !isObject(document) || !isObject(document["data"]))
    return document;
  const { data } = document;
  const main = languageFrom(data["language"]) ?? language;
  const others = translations.flatMap(({ language: other, bytes }) => {
    const read = other === main ? undefined : recordsOf(texts, bytes);
    return read === undefined ? [] : [[other, read] as const];
  });
  const translate = (record: JsonObject) => {
    const id = texts.id === undefined ? "" : (identifierFrom(record[texts.id]) ?? "");
    const changed = texts.fields.flatMap((field) => {
      const text = record[field];
      if (typeof text !== "string" || text.trim() === "") return [];
      const more = others.flatMap(([other, byId]) => {
        const said = textFrom(byId.get(id)?.[field]);
        return said === undefined ? [] : [{ text: said, language: other }];
      });
      const isTranslated = more.some((each) => each.text !== text.trim());
      return isTranslated ? [[field, [{ text, language: main }, ...more]] as const] : [];
    });
    return changed.length === 0 ? record : { ...record, ...Object.fromEntries(changed) };
  };
  if (texts.list === undefined) return { ...document, data: translate(data) };
  const records = data[texts.list];
  if (!Array.isArray(records)) return document;
  const all = records.map((record: unknown) => (isObject(record) ? translate(record) : record));
  return { ...document, data: { ...data, [texts.list]: all } };
}

/** Returns the records of a translation by id. */
function recordsOf({ list, id }: Texts, bytes: Uint8Array): ReadonlyMap<string, JsonObject> | undefined {
  const document = readLeniently(bytes);
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) return undefined;
  if (list === undefined || id === undefined) return new Map([["", data]]);
  const records: unknown = data[list];
  if (!Array.isArray(records)) return undefined;
  return new Map(
    records.filter(isObject).flatMap((record) => {
      const named = identifierFrom(record[id]);
      return named === undefined ? [] : [[named, record] as const];
    }),
  );
}

function readLeniently(bytes: Uint8Array): unknown {
  try {
    return parseBounded(bytes);
  } catch {
    return undefined;
  }
}
