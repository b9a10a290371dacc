import {
  feedNameIn,
  type GbfsFeedName,
  hasFeed,
  isAtLeast,
  type PublishedGbfsVersion,
  publishedGbfsVersions,
} from "@bikeshare/contract";
import { type KnownSystem, languagesOf, mainLanguage, publishedId } from "./documents.ts";
import { type FeedData, hasTexts } from "./writer.ts";

/*
 * Finds the documents of systems: a cache of the systems' ids, the names of feeds in each version of GBFS, and the
 * documents that list the addresses of others (gbfs.json, gbfs_versions.json and manifest.json).
 */

/** The ids of all systems, cached so that requests for unknown systems cost few queries. */
export interface SystemList {
  /** Tells whether there is a system with this id. */
  has(systemId: string): Promise<boolean>;
  /** Returns the oldest system; undefined: there is none. */
  first(): Promise<string | undefined>;
}

export interface SystemListOptions {
  /** Reads the ids of all systems, oldest first. */
  readonly read: () => Promise<readonly string[]>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/**
 * Minimum interval between two reads for unknown ids. Too low: invented paths cost queries. Too high: a new system is
 * found late.
 */
const REREAD_INTERVAL_MS = 2_000;

/** Creates the cache. Systems are seldom created and never deleted, so a known id stays valid. */
export function createSystemList({ read, clock }: SystemListOptions): SystemList {
  let ids: readonly string[] = [];
  let readAt: number | undefined;
  let reading: Promise<readonly string[]> | undefined;

  function reread(): Promise<readonly string[]> {
    reading ??= read()
      .then((found) => {
        readAt = clock();
        ids = found;
        return found;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  }

  function isDue(): boolean {
    // The clock may be set back.
    return readAt === undefined || Math.abs(clock() - readAt) >= REREAD_INTERVAL_MS;
  }

  return {
    has: async (systemId) => ids.includes(systemId) || (isDue() && (await reread()).includes(systemId)),
    first: async () => ids[0] ?? (isDue() ? (await reread())[0] : undefined),
  };
}

/** A feed that a system may publish. `gbfs` is the list of its other feeds. */
export type FeedName = Exclude<GbfsFeedName, "vehicle_availability"> | "gbfs";

/** Every feed that systems may publish, in the order of the list. */
const feedNames: readonly FeedName[] = [
  "gbfs",
  "gbfs_versions",
  "system_information",
  "vehicle_types",
  "station_information",
  "station_status",
  "vehicle_status",
  "system_hours",
  "system_calendar",
  "system_regions",
  "system_pricing_plans",
  "system_alerts",
  "geofencing_zones",
  "manifest",
];

/** Returns every feed that a version of GBFS has. */
export function feedsIn(version: PublishedGbfsVersion): FeedName[] {
  return feedNames.filter((feed) => feed === "gbfs" || hasFeed(version, feed));
}

/** Returns a feed's name in a version. */
export function nameIn(version: PublishedGbfsVersion, feed: FeedName): string {
  return feed === "gbfs" ? feed : feedNameIn(version, feed);
}

/** The addresses of one system's feeds. */
export interface Addresses {
  readonly baseUrl: string;
  readonly system: KnownSystem;
}

/** Returns a feed's address. The address contains the system's id, so that it stays valid when more systems are created. */
function urlOf({ baseUrl, system }: Addresses, version: PublishedGbfsVersion, file: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/gbfs/${encodeURIComponent(system.id)}/${version}/${file}.json`;
}

/**
 * Returns the `data` of `gbfs.json`. GBFS 2.3 lists the feeds for each language, GBFS 3.0 once.
 * @param feeds the feeds that the system has
 */
export function discovery(addresses: Addresses, version: PublishedGbfsVersion, feeds: readonly FeedName[]): object {
  const listed = (language: string) => ({
    feeds: feeds.map((feed) => {
      const name = nameIn(version, feed);
      // The address in the main language contains no language, and stays valid when languages are added. Documents
      // without texts are equal in every language.
      const hasLanguageInPath = language !== mainLanguage(addresses.system) && feed !== "gbfs" && hasTexts(feed);
      return { name, url: urlOf(addresses, version, hasLanguageInPath ? `${language}/${name}` : name) };
    }),
  });
  if (isAtLeast(version, "3.0")) return listed(mainLanguage(addresses.system));
  return Object.fromEntries(languagesOf(addresses.system).map((language) => [language, listed(language)]));
}

/**
 * Returns the list of a system's versions, for a document in `version`. Leaves out release candidates of other versions,
 * because the schema of `version` rejects them.
 */
export function versionsOf(addresses: Addresses, version: PublishedGbfsVersion): FeedData<"gbfs_versions"> {
  return { versions: versionList(addresses, version) };
}

function versionList(addresses: Addresses, version: PublishedGbfsVersion) {
  return publishedGbfsVersions
    .filter((each) => each === version || !each.includes("RC"))
    .map((each) => ({ version: each, url: urlOf(addresses, each, "gbfs") }));
}

/** Returns the address of the list of all systems. */
export function manifestUrl(baseUrl: string, version: PublishedGbfsVersion): string {
  return `${baseUrl.replace(/\/+$/, "")}/gbfs/${version}/manifest.json`;
}

/** Returns the list of all systems; undefined when there is only one, whose `gbfs_versions` suffices. */
export function manifest(
  systems: readonly KnownSystem[],
  baseUrl: string,
  version: PublishedGbfsVersion,
): FeedData<"manifest"> | undefined {
  if (systems.length < 2) return undefined;
  return {
    datasets: systems.map((system) => ({
      system_id: publishedId(system),
      versions: versionList({ baseUrl, system }, version),
    })),
  };
}
