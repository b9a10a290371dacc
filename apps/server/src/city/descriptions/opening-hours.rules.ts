/*
 * Checks opening hours in the form of OpenStreetMap's `opening_hours`, which GBFS 3.0 uses. Their words, the order of the
 * words and the times are checked, but not holidays, which differ between countries.
 */

// The constants are regular expressions, as texts that build on one another. `(?!\d|:\d)` after a number leaves the number
// to a time that it begins: the 10 of `Apr 10:00-12:00` is no day.

const DAY = "(?:Mo|Tu|We|Th|Fr|Sa|Su)";
/** `easter +1 day` */
const OFFSET = "(?: [+-]\\d{1,3} days?)?";
/** `Mo-Fr`, `Sa[1,-1]` (the first and the last of a month), `PH` and `SH` (public and school holidays) */
const DAYS = listOf(`(?:${DAY}(?:-${DAY}|\\[-?\\d(?:[-,]-?\\d)*\\])?|PH|SH)${OFFSET}`);
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
/** `Apr`, `Apr 15`, `2026 Apr 15` */
const DATE = `(?:(?:\\d{4} )?(?:${MONTH}(?: (?:0?[1-9]|[12]\\d|3[01])(?!\\d|:\\d))?|easter)${OFFSET})`;
/** `Apr-Oct`, `Apr 1-15`, `Apr 15+` (from then on) */
const DATES = listOf(`${DATE}(?: ?- ?(?:${DATE}|(?:0?[1-9]|[12]\\d|3[01])(?!\\d|:\\d))|\\+)?`);
/** `2026`, `2026-2030/2` (every second year), `2026+` */
const YEARS = listOf("\\d{4}(?!\\d|:\\d)(?:-\\d{4}(?:/\\d)?|\\+)?");
/** `week 1-53/2` */
const WEEKS = `week ?${listOf("\\d{1,2}(?:-\\d{1,2}(?:/\\d{1,2})?)?")}`;
/** Up to 48:59: hours above 24 are on the next day. */
const HOUR = "(?:[0-3]?\\d|4[0-8]):[0-5]\\d";
const SUN = "(?:sunrise|sunset|dawn|dusk)";
/** `10:00`, `sunset`, `(sunset-01:00)` */
const TIME = `(?:${HOUR}|${SUN}|\\(${SUN}[+-]${HOUR}\\))`;
/** `24/7`, `10:00-12:00,14:00-18:00`, `10:00+` (from then on) */
const TIMES = `(?:24/7|${listOf(`${TIME}(?: ?- ?${TIME}\\+?|\\+)`)})`;

/** Returns a pattern for one or more items with commas between. */
function listOf(item: string): string {
  return `(?:${item}(?: ?, ?${item})*)`;
}

/** The parts of a rule in their order; each is optional. No letter or digit may follow a part. */
const parts = [YEARS, DATES, WEEKS, ":", DAYS, TIMES, "(?:off|closed|open|unknown)", '"[^"]*"'].map(
  (part) => new RegExp(`${part}(?![A-Za-z0-9])`, "y"),
);
const BETWEEN_RULES = /\s*(?:;|\|\||,)\s*/y;
const SPACE = /\s*/y;

/** Maximum characters, as in OpenStreetMap. */
const MAX_LENGTH = 255;

/** Returns opening hours without superfluous spaces; undefined for an invalid text. */
export function openingHoursFrom(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim().replaceAll(/ {2,}/g, " ");
  return text.length <= MAX_LENGTH && areRules(text) ? text : undefined;
}

/** Tells whether a text consists of rules. Takes one part after another from the text, always at the index `at`. */
function areRules(text: string): boolean {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const isFound = pattern.test(text);
    if (isFound) at = pattern.lastIndex;
    return isFound;
  };
  for (;;) {
    let found = 0;
    for (const part of parts) {
      if (take(part)) found++;
      take(SPACE);
    }
    if (found === 0) return false;
    if (at === text.length) return true;
    if (!take(BETWEEN_RULES)) return false;
    // The last rule may end with a semicolon.
    if (at === text.length) return text.endsWith(";");
  }
}
