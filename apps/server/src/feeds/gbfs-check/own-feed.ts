import { type PublishedGbfsVersion, publishedGbfsVersions } from "@bikeshare/contract";
import { ServiceError } from "@bikeshare/rules";
import { feedsIn, nameIn } from "../gbfs-out/discovery.ts";
import { type GbfsContext, gbfsDocument } from "../gbfs-out/service.ts";
import type { FeedFiles } from "./feed-set.ts";
import { readOwn } from "./read-own.ts";

/** The default version of a check: current planners read it. */
const USUAL_VERSION: PublishedGbfsVersion = "3.0";

export function isPublishedVersion(version: string): version is PublishedGbfsVersion {
  return publishedGbfsVersions.some((each) => each === version);
}

/** Reads what a system publishes in one version, without HTTP. */
export async function readOwnFeed(
  context: GbfsContext,
  systemId: string,
  version: PublishedGbfsVersion = USUAL_VERSION,
): Promise<FeedFiles> {
  const files = await readVersion(context, systemId, version);
  return version === "2.3" ? files : { ...files, version2: await readVersion(context, systemId, "2.3") };
}

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
