/**
 * Pages in a frame of the operator's portal. Only their addresses (`/dashboard/embedded/…`) tell them from other pages,
 * because browsers may refuse to store anything in such frames.
 */

/** The base path of the pages, without the slash at the end. */
const BASE = import.meta.env.BASE_URL.replace(/\/$/, "");
const FRAME_BASE = `${BASE}/embedded`;

/** Whether this is a page in a frame. Tests import this module outside a browser, where no `location` exists. */
export const isEmbedded: boolean = "location" in globalThis && location.pathname.startsWith(`${FRAME_BASE}/`);

/** The prefix of the addresses of all pages. */
export const pagesBase: string = isEmbedded ? FRAME_BASE : BASE;

/**
 * Returns the token of a dashboard link, and removes it from the address, so that the browser's history does not store it.
 * Returns undefined if the address has no token, or if no page embeds this one: a link opens only in a frame.
 */
export function takeLinkToken(): string | undefined {
  const { hash, pathname, search } = location;
  // A token is 32 bytes in Base64URL, which are 43 characters.
  if (!isEmbedded || !/^#[\w-]{43}$/.test(hash)) return undefined;
  history.replaceState(history.state, "", pathname + search);
  return window.parent === window ? undefined : hash.slice(1);
}
