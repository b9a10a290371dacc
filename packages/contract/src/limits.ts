/** Requests that a key may make in any window of `RATE_WINDOW_SECONDS`, unless it has a number of its own. */
export const DEFAULT_RATE_LIMIT = 60;

/** Length of the rate limit's sliding window, in seconds. */
export const RATE_WINDOW_SECONDS = 60;

/** Items on a page when `limit` is not given. */
export const DEFAULT_PAGE_SIZE = 50;

/** Most items on a page. A larger `limit` gives this many; it is not refused. */
export const MAX_PAGE_SIZE = 200;
