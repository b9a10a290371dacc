import { type PublishedGbfsVersion, publishedGbfsVersions } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import { feedsIn, nameIn } from "../gbfs-out/discovery.ts";
import { type GbfsContext, gbfsDocument } from "../gbfs-out/service.ts";
import { isObject } from "../gbfs/values.ts";
import type { FeedFile, FeedFiles } from "./feed-set.ts";
import { listedFeeds, manifestAddress } from "./read-address.ts";

/** The default version of a check, which current trip planners read. */
const USUAL_VERSION: PublishedGbfsVersion = "3.0";

/** Tells whether this service publishes a version of GBFS. */
export function isPublishedVersion(version: string): version is PublishedGbfsVersion {
  return publishedGbfsVersions.some((each) => each === version);
}

/** Reads the feeds that a system of this service publishes in one version, and in version 2.3. Does not use HTTP. */
export async function readOwnFeed(
  context: GbfsContext,
  systemId: string,
  version: PublishedGbfsVersion = USUAL_VERSION,
): Promise<FeedFiles> {
  const files = await readVersion(context, systemId, version);
  return version === "2.3" ? files : { ...files, version2: await readVersion(context, systemId, "2.3") };
}

/** Reads the feeds of one version, as they would be published now. */
function readVersion(context: GbfsContext, systemId: string, version: PublishedGbfsVersion): Promise<FeedFiles> {
  return readOwn(systemId, async (name) => {
    const feed = feedsIn(version).find((each) => nameIn(version, each) === name);
    if (feed === undefined) return undefined;
    try {
      return (await gbfsDocument(context, { systemId, version, feed })).json;
    } catch (error) {
      if (error instanceof ServiceError && error.code === "not_found") return undefined;
      throw error;
    }
  });
}

/** Returns the JSON of a document of a system's own feeds, such as `station_status`; undefined: the system has none. */
type OwnDocument = (name: string) => Promise<string | undefined>;

/** Reads a system's `gbfs.json` and all documents that it lists. */
async function readOwn(location: string, document: OwnDocument): Promise<FeedFiles> {
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
  // Reads each feed once, in the main language. GBFS 2.3 lists a feed once for each language.
  const addresses = new Map(listed.map(({ name, url }) => [name, url]));
  for (const [name, url] of addresses) await read(name, null, url);
  const manifest = manifestAddress(files);
  if (manifest !== undefined) await read("manifest", null, manifest);
  return { kind: "own", location, files };
}
