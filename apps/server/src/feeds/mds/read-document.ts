import { readFile, stat } from "node:fs/promises";
import { createFeedClient } from "../gbfs/address-source.ts";
import { parseBounded, tooLarge } from "../gbfs/bounded-json.ts";
import { isAddress } from "../outgoing.ts";

/** Bytes of a boundary or a requirement file at most. San Francisco's has 9 KB. */
const MAX_BYTES = 1024 * 1024;

/** Returns the JSON of a file or of an http address. @throws Error that says what is wrong with it */
export async function readDocument(location: string): Promise<unknown> {
  if (isAddress(location)) {
    const url = new URL(location);
    const { bytes } = await createFeedClient(url, { maxBytes: MAX_BYTES }).get(url);
    return parseBounded(bytes ?? new Uint8Array());
  }
  if ((await stat(location)).size > MAX_BYTES) throw tooLarge(MAX_BYTES);
  return parseBounded(await readFile(location));
}
