import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../db/errors.ts";
import type { VehicleReport } from "../../fleet/bike-snapshot-decision.rules.ts";
import type { StationInformation, StationStatusReport } from "../../fleet/station.rules.ts";
import { isHttp } from "../address.ts";
import type { Description } from "./descriptions.ts";
import { createDocumentReader, type DocumentReader } from "./document-reader.ts";
import { MAX_DOCUMENT_BYTES, tooLarge, type DocumentName, type Documents } from "./documents.ts";
import { AnswerError, createFeedClient, type FeedClient, type FetchOptions } from "./feed-client.ts";
import { FeedFailure, type Feed } from "./feed.ts";

/** Where a system's feeds are got from. */
export interface GbfsSource {
  /**
   * What a feed says; undefined when the source has no such feed.
   * @param now milliseconds since 1970
   * @throws FeedFailure
   */
  read<Name extends DocumentName>(feed: Name, now: number): Promise<Documents[Name] | undefined>;
}

/** A source that holds something open. */
export interface OpenSource extends GbfsSource {
  close(): Promise<void>;
}

/**
 * Opens a directory of saved feeds, or the `gbfs.json` at an address.
 * @param location a directory, a `gbfs.json` in one, or an http(s) address
 * @param now milliseconds since 1970
 * @throws FeedFailure when there is no such directory, or no list of feeds at the address
 */
export async function openSource(location: string, now: number, options: FetchOptions = {}): Promise<OpenSource> {
  const reader = createDocumentReader();
  try {
    const source = /^https?:\/\//i.test(location)
      ? await openAddress(location, now, createOpenOptions(reader, location, options))
      : await openDirectory(location, reader);
    return { ...source, close: () => reader.release() };
  } catch (error) {
    await reader.release();
    throw error;
  }
}

interface AddressOptions {
  readonly reader: DocumentReader;
  readonly client: FeedClient;
}

function createOpenOptions(reader: DocumentReader, location: string, options: FetchOptions): AddressOptions {
  if (!URL.canParse(location)) throw new FeedFailure("gbfs", `${location} is not a valid URL`);
  return { reader, client: createFeedClient(new URL(location), options) };
}

/**
 * A saved set of feeds is read by file name alone: what its gbfs.json says (if it has one) points at where the
 * feeds were saved from, which may be gone, or be something newer.
 */
async function openDirectory(location: string, reader: DocumentReader): Promise<GbfsSource> {
  const directory = basename(location) === "gbfs.json" ? dirname(location) : location;
  const found = await stat(directory).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") throw new FeedFailure("gbfs", `there is no directory ${directory}`);
    throw failure("gbfs", error);
  });
  if (!found.isDirectory()) throw new FeedFailure("gbfs", `${directory} is not a directory`);
  return {
    async read(feed, now) {
      const bytes = await fileBytes(join(directory, `${feed}.json`)).catch((error: unknown) => {
        throw failure(feed, error);
      });
      return bytes && (await reader.read(feed, bytes, now)).content;
    },
  };
}

/** @returns undefined when there is no such file */
async function fileBytes(file: string): Promise<Uint8Array | undefined> {
  try {
    if ((await stat(file)).size > MAX_DOCUMENT_BYTES) throw tooLarge();
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function openAddress(location: string, now: number, { reader, client }: AddressOptions): Promise<GbfsSource> {
  const get = async <Name extends DocumentName>(feed: Name, address: URL) => {
    const { url, bytes } = await client.get(address).catch((error: unknown) => {
      throw failure(feed, error);
    });
    return { url, content: (await reader.read(feed, bytes ?? new Uint8Array(), now)).content };
  };
  const { url: base, content: feeds } = await get("gbfs", new URL(location));
  return {
    async read(feed) {
      const listed = feeds.get(feed);
      if (listed === undefined) return undefined;
      let first: unknown;
      for (const address of feedAddresses(listed, feed, base)) {
        try {
          return (await get(feed, address)).content;
        } catch (error) {
          first ??= error;
        }
      }
      throw failure(feed, first);
    },
  };
}

/**
 * Where a listed feed may be: at the address given; else, since a moved or copied gbfs.json often names the host
 * it came from, beside the gbfs.json itself. A list that came over https leads to https alone: whoever is on the way
 * could otherwise say what the feeds say.
 */
export function feedAddresses(listed: string, feed: string, base: URL): URL[] {
  const beside = new URL(`${feed}.json`, base);
  const given = URL.canParse(listed, base.href) ? new URL(listed, base) : undefined;
  if (!given || !isHttp(given)) return [beside];
  if (base.protocol === "https:" && given.protocol === "http:") {
    if (given.port !== "") return [beside];
    given.protocol = "https:";
  }
  return given.host === base.host ? [given] : [given, beside];
}

/** A failure of a feed, from whatever was thrown while it was got. */
export function failure(feed: string, error: unknown): FeedFailure {
  if (error instanceof FeedFailure) return error;
  const retryAfterMs = error instanceof AnswerError ? error.retryAfterMs : null;
  return new FeedFailure(feed, error instanceof Error ? error.message : String(error), { retryAfterMs });
}

/** What the feeds of a source said, as far as they could be got and read. Undefined: no snapshot of that feed. */
export interface GbfsSnapshot {
  readonly information?: Feed<StationInformation> | undefined;
  readonly status?: Feed<StationStatusReport> | undefined;
  readonly vehicles?: Feed<VehicleReport> | undefined;
  /** What it said of the system as a whole. */
  readonly descriptions?: readonly Description[];
}

/** A snapshot, and the feeds that failed. */
export interface SourceSnapshot {
  readonly snapshot: GbfsSnapshot;
  readonly failures: readonly FeedFailure[];
}

/**
 * Gets and reads all feeds that we use, one after the other, so that no two are in memory at a time. One that fails is
 * no obstacle to the others.
 * @param now milliseconds since 1970
 */
export async function readSnapshot(source: GbfsSource, now: number): Promise<SourceSnapshot> {
  const failures: FeedFailure[] = [];
  const read = async <Name extends DocumentName>(name: Name): Promise<Documents[Name] | undefined> => {
    try {
      return await source.read(name, now);
    } catch (error) {
      if (!(error instanceof FeedFailure)) throw error;
      failures.push(error);
      return undefined;
    }
  };
  const information = await read("station_information");
  const status = await read("station_status");
  // 3.x has vehicle_status; a source that offers both says the same in each.
  const vehicles = (await read("vehicle_status")) ?? (await read("free_bike_status"));
  const descriptions: Description[] = [];
  for (const name of ["system_information", "vehicle_types", "system_regions"] as const) {
    const description = await read(name);
    if (description) descriptions.push(description);
  }
  return { snapshot: { information, status, vehicles, descriptions }, failures };
}
