/** Pages in a frame of the operator's portal: their addresses say so, because such frames may be allowed no storage. */

/** The base path of the pages, without the slash at the end. */
const BASE = import.meta.env.BASE_URL.replace(/\/$/, "");
const FRAME_BASE = `${BASE}/embedded`;

/** Whether this is a page in a frame. The tests read the table of pages where there is no page at all. */
export const isEmbedded: boolean = "location" in globalThis && location.pathname.startsWith(`${FRAME_BASE}/`);

/** The prefix of the addresses of all pages. */
export const pagesBase: string = isEmbedded ? FRAME_BASE : BASE;

/**
 * Removes the secret of the portal's link from the address, where histories would store it. Links work only in frames:
 * elsewhere the policy does not restrict the embedding page.
 */
export function takeLinkToken(): string | undefined {
  const { hash, pathname, search } = location;
  if (!isEmbedded || !/^#[\w-]{43}$/.test(hash)) return undefined;
  history.replaceState(history.state, "", pathname + search);
  return window.parent === window ? undefined : hash.slice(1);
}
