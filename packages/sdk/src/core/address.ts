import { UsageError } from "../errors/errors.ts";
import { given } from "./given.ts";

/** Query parameters; those that are undefined are not sent. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** https, or http to this very machine; without credentials, query or fragment. In the spelling of a parsed URL. */
const SAFE = /^(https:\/\/|http:\/\/(([\w.-]+\.)?localhost|127(\.\d+){3}|\[::1\])[:/])[^@?#]*$/;

/**
 * The service's base address, checked and without a slash at its end.
 *
 * @throws UsageError when it is no URL, is not https (save on this machine), holds what does not belong there, or
 *   ends in /v1, which every path brings itself
 */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text).href : "";
  if (/\/v1\/*$/.test(url)) throw new UsageError("baseUrl must end before /v1");
  if (SAFE.test(url)) return url.replace(/\/+$/, "");
  // The text is not repeated: who confuses the options puts the key here.
  throw new UsageError(`baseUrl ${text ? "must be https:// or http://localhost" : "is not set"}`);
}

/**
 * A path with its id and query.
 *
 * @throws UsageError for an id that a URL cannot hold as one segment: an empty one would ask for the list, dots would be
 *   taken for the folder above
 */
export function fillPath(path: string, id: string | undefined, query: Query): string {
  const filled = path.replace(":id", () => {
    if (typeof id !== "string" || /^\.{0,2}$/.test(id)) throw new UsageError(`"${id}" is no id`);
    return encodeURIComponent(id);
  });
  const search = new URLSearchParams(given(query) as Record<string, string>).toString(); // It makes text of numbers.
  return search ? `${filled}?${search}` : filled;
}
