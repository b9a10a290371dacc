import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../db/errors.ts";
import { discoveredFeeds } from "./discovery.ts";
import { FeedFailure } from "./feed.ts";
import { fetchJson, isHttp, parseJson, refuseTooLarge, type FetchLimits } from "./http.ts";

/** Where a system's feeds are got from. */
export interface GbfsSource {
  /** A feed's document; undefined when the source has no such feed. @throws FeedFailure */
  document(feed: string): Promise<unknown>;
}

/**
 * Opens a directory of saved feeds, or the `gbfs.json` at an address.
 * @param location a directory, a `gbfs.json` in one, or an http(s) address
 * @throws FeedFailure when there is no such directory, or no list of feeds at the address
 */
export async function openSource(location: string, limits: FetchLimits = {}): Promise<GbfsSource> {
  return /^https?:\/\//i.test(location) ? openAddress(location, limits) : openDirectory(location);
}

/**
 * A saved set of feeds is read by file name alone: what its gbfs.json says (if it has one) points at where the
 * feeds were saved from, which may be gone, or be something newer.
 */
async function openDirectory(location: string): Promise<GbfsSource> {
  const directory = basename(location) === "gbfs.json" ? dirname(location) : location;
  const found = await stat(directory).catch((error: unknown) => {
    throw new FeedFailure("gbfs", `there is no directory ${directory}`, { cause: error });
  });
  if (!found.isDirectory()) throw new FeedFailure("gbfs", `${directory} is not a directory`);
  return {
    async document(feed) {
      try {
        const file = join(directory, `${feed}.json`);
        refuseTooLarge((await stat(file)).size);
        return parseJson(await readFile(file));
      } catch (error) {
        if (codeOf(error) === "ENOENT") return undefined;
        throw failure(feed, error);
      }
    },
  };
}

async function openAddress(location: string, limits: FetchLimits): Promise<GbfsSource> {
  const asked = URL.canParse(location) ? new URL(location) : undefined;
  if (!asked) throw new FeedFailure("gbfs", `${location} is not an address`);
  const { url: base, document } = await fetchJson(asked, limits).catch((error: unknown) => {
    throw failure("gbfs", error);
  });
  const feeds = discoveredFeeds(document);
  if (!feeds) throw new FeedFailure("gbfs", `there is no list of feeds at ${base.href}`);
  return {
    async document(feed) {
      const listed = feeds.get(feed);
      if (listed === undefined) return undefined;
      let first: unknown;
      for (const address of addresses(listed, feed, base)) {
        try {
          return (await fetchJson(address, limits)).document;
        } catch (error) {
          first ??= error;
        }
      }
      throw failure(feed, first ?? new Error(`${listed} is not an address that can be fetched`));
    },
  };
}

/**
 * Where a listed feed may be: at the address given; else, since a moved or copied gbfs.json often names the host
 * it came from, beside the gbfs.json itself.
 */
export function addresses(listed: string, feed: string, base: URL): URL[] {
  const beside = new URL(`${feed}.json`, base);
  const given = URL.canParse(listed, base.href) ? new URL(listed, base) : undefined;
  if (!given || !isHttp(given)) return [beside];
  return given.host === base.host ? [given] : [given, beside];
}

/** A failure of a feed, from whatever was thrown while it was got. */
export function failure(feed: string, error: unknown): FeedFailure {
  return new FeedFailure(feed, error instanceof Error ? error.message : String(error), { cause: error });
}
