import { isObject, type JsonObject } from "./values.ts";

/**
 * The feeds that a `gbfs.json` lists, address by name. 1.x and 2.x list them by language: English, else the first.
 * 3.x has one list. Undefined when it is no such document.
 */
export function discoveredFeeds(document: unknown): ReadonlyMap<string, string> | undefined {
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) return undefined;
  const listed = data["feeds"] ?? languageChosen(data)?.["feeds"];
  if (!Array.isArray(listed)) return undefined;
  const feeds = new Map<string, string>();
  for (const feed of listed) {
    if (!isObject(feed)) continue;
    const { name, url } = feed;
    if (typeof name === "string" && typeof url === "string") feeds.set(name, url);
  }
  return feeds;
}

function languageChosen(data: JsonObject): JsonObject | undefined {
  const languages = Object.entries(data).filter(([, value]) => isObject(value) && Array.isArray(value["feeds"]));
  const [, chosen] = languages.find(([language]) => /^en\b/i.test(language)) ?? languages[0] ?? [];
  return isObject(chosen) ? chosen : undefined;
}
