import { isObject } from "../gbfs/values.ts";
import type { FeedFile, FeedFiles } from "./feed-set.ts";
import { listedFeeds, manifestAddress } from "./read-address.ts";

/** Returns the JSON of a document of a system's own feeds, such as `station_status`; undefined: the system has none. */
export type OwnDocument = (name: string) => Promise<string | undefined>;

/** Reads the feeds that a system publishes, without HTTP. */
export async function readOwn(location: string, document: OwnDocument): Promise<FeedFiles> {
  const files: FeedFile[] = [];
  const read = async (name: string, language: string | null, address: string) => {
    const json = await document(name);
    const failure = json === undefined ? "it is listed and not published" : undefined;
    const bytes = json === undefined ? undefined : Buffer.from(json);
    files.push({ name, language, address, bytes, failure });
    return json;
  };
  const list = await read("gbfs", null, "gbfs.json");
  const content: unknown = list === undefined ? undefined : JSON.parse(list);
  const data = isObject(content) && isObject(content["data"]) ? content["data"] : {};
  const listed = listedFeeds(data);
  // One document has the texts of every language.
  const addresses = new Map(listed.map(({ name, url }) => [name, url]));
  for (const [name, url] of addresses) await read(name, null, url);
  const manifest = manifestAddress(files);
  if (manifest !== undefined) await read("manifest", null, manifest);
  return { kind: "own", location, files };
}
