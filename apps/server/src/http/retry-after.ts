type Header = readonly [name: string, value: string];

/** The longest result, a year: the caller decides how long to wait, but the value must be a finite number. */
const LONGEST = 365 * 24 * 3600 * 1000;

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that RFC 9110 lets servers send. */
const httpDate =
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Milliseconds for which an answer asks us to wait (`Retry-After`, seconds or a date); null where it does not, or not in
 * a form that can be read. A date is counted from the answer's own `Date`, so that a wrong clock there does no harm.
 *
 * @param now milliseconds since 1970, for answers without a `Date`, whose dates do not count without it
 */
export function readRetryAfter(headers: readonly Header[], now: (() => number) | undefined): number | null {
  const value = valueOf(headers, "retry-after");
  if (value === undefined) return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, LONGEST);
  const until = readDate(value);
  if (until === undefined) return null;
  const from = readDate(valueOf(headers, "date") ?? "") ?? now?.();
  return from === undefined ? null : Math.min(Math.max(0, until - from), LONGEST);
}

function valueOf(headers: readonly Header[], wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1].trim();
}

function readDate(text: string): number | undefined {
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}
