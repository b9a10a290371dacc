import { EARLIEST } from "./form.ts";
import type { Publication } from "./publication-queries.ts";

/**
 * What is noted of a feed when a content is published: the very same as before while the content is the same, so
 * that `last_updated` says when it changed; it never goes back, whatever the clock does.
 * @param now milliseconds since 1970
 */
export function publish(held: Publication, digest: Uint8Array, now: number): Publication {
  if (Buffer.compare(held.digest, digest) === 0) return held;
  const before = held.last_updated.getTime();
  const at = Math.max(Math.floor(now / 1000) * 1000, before, EARLIEST);
  return { digest, last_updated: new Date(at), shares_second: at === before };
}
