import { isObject, type JsonObject } from "./values.ts";

/** Addresses of a source's feeds, as the list gives them, by the feeds' names. */
export type DiscoveredFeeds = ReadonlyMap<string, string>;

/** Feeds of a list that are looked at: GBFS knows about 20. */
const MAX_FEEDS = 200;
/** Characters of an address. */
const MAX_ADDRESS_LENGTH = 2_048;

/**
 * The feeds that a `gbfs.json` lists, address by name. 1.x and 2.x list them by language: English, else the first.
 * 3.x has one list. Undefined when it is no such document.
 */
export function discoveredFeeds(document: unknown): DiscoveredFeeds | undefined {
  const data = isObject(document) ? document["data"] : undefined;
  if (!isObject(data)) return undefined;
  const listed = data["feeds"] ?? languageChosen(data)?.["feeds"];
  if (!Array.isArray(listed)) return undefined;
  const feeds = new Map<string, string>();
  for (const feed of listed.slice(0, MAX_FEEDS)) {
    if (!isObject(feed)) continue;
    const { name, url } = feed;
    const isUsable = typeof name === "string" && typeof url === "string" && url.length <= MAX_ADDRESS_LENGTH;
    if (isUsable && name.length <= MAX_ADDRESS_LENGTH) feeds.set(name, url);
  }
  return feeds;
}

function languageChosen(data: JsonObject): JsonObject | undefined {
  const languages = Object.entries(data).filter(([, value]) => isObject(value) && Array.isArray(value["feeds"]));
  const [, chosen] = languages.find(([language]) => /^en\b/i.test(language)) ?? languages[0] ?? [];
  return isObject(chosen) ? chosen : undefined;
}
