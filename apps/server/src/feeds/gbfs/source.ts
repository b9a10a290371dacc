import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../storage/db/errors.ts";
import { isAddress } from "../address.ts";
import { AddressSource } from "./address-source.ts";
import { MAX_DOCUMENT_BYTES, tooLarge } from "./bounded-json.ts";
import { createDocumentReader } from "./document-reader.ts";
import type { FetchOptions } from "./feed-client.ts";
import { FeedFailure } from "./problems.ts";
import type { GbfsSource } from "./snapshot.ts";

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
export function openSource(location: string, now: number, options: FetchOptions = {}): Promise<OpenSource> {
  return isAddress(location) ? openAddress(location, now, options) : openDirectory(location);
}

async function openAddress(location: string, now: number, options: FetchOptions): Promise<OpenSource> {
  if (!URL.canParse(location)) throw new FeedFailure("gbfs", `${location} is not a valid URL`);
  const source = new AddressSource(new URL(location), options);
  const close = () => source.release();
  const failure = await source.begin(now);
  if (failure === undefined) return { read: (feed) => source.read(feed), names: () => source.names(), close };
  await close();
  throw failure;
}

/**
 * A saved set of feeds is read by file name alone: the URLs in its gbfs.json (if it has one) are those that the
 * feeds were saved from, which may be gone, or have newer ones.
 */
async function openDirectory(location: string): Promise<OpenSource> {
  const directory = basename(location) === "gbfs.json" ? dirname(location) : location;
  const found = await stat(directory).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") throw new FeedFailure("gbfs", `there is no directory ${directory}`);
    throw FeedFailure.from("gbfs", error);
  });
  if (!found.isDirectory()) throw new FeedFailure("gbfs", `${directory} is not a directory`);
  const reader = createDocumentReader();
  return {
    async read(feed, now) {
      const bytes = await readFeedFile(join(directory, `${feed}.json`)).catch((error: unknown) => {
        throw FeedFailure.from(feed, error);
      });
      return bytes && (await reader.read(feed, bytes, now)).content;
    },
    async names() {
      const files = (await readdir(directory)).filter((file) => file.endsWith(".json"));
      return files.map((file) => basename(file, ".json"));
    },
    close: () => reader.release(),
  };
}

/** @returns undefined when there is no such file */
async function readFeedFile(file: string): Promise<Uint8Array | undefined> {
  try {
    if ((await stat(file)).size > MAX_DOCUMENT_BYTES) throw tooLarge();
    return await readFile(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
