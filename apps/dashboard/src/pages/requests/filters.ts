/** Reads and changes the filters of the request log, which the page's address contains. */

const FILTER_NAMES = ["key_id", "status", "error", "method", "route", "since", "until"] as const;
/** The texts of the filters. An empty text removes a filter. */
export type RequestFilters = Partial<Record<(typeof FILTER_NAMES)[number], string>>;

/** Returns the filters of an address. Unknown values are kept, so that the server reports the error. */
export function readFilters(search: URLSearchParams): RequestFilters {
  return Object.fromEntries(
    FILTER_NAMES.flatMap((name) => {
      const value = search.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
}

/**
 * Returns the address's parameters with changed filters. Removes the cursor, so that the list begins at the newest request,
 * and closes the open request.
 */
export function withFilters(search: URLSearchParams, change: RequestFilters): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const [name, value] of Object.entries(change)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  next.delete("cursor");
  next.delete("request");
  return next;
}

/** Tells whether a text has the form of a Request-Id. */
export function isRequestId(text: string): boolean {
  return /^req_[0-9A-Za-z]+$/.test(text);
}
