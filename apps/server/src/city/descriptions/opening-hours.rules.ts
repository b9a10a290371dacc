/**
 * Parses OpenStreetMap's `opening_hours`, which GBFS 3.0 uses. Checks the words, their order and the times, but not
 * holidays, which differ between countries.
 */

const DAY = "(?:Mo|Tu|We|Th|Fr|Sa|Su)";
const OFFSET = "(?: [+-]\\d{1,3} days?)?";
const DAYS = list(`(?:${DAY}(?:-${DAY}|\\[-?\\d(?:[-,]-?\\d)*\\])?|PH|SH)${OFFSET}`);
const MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)";
const DATE = `(?:(?:\\d{4} )?(?:${MONTH}(?: (?:0?[1-9]|[12]\\d|3[01])(?!\\d|:\\d))?|easter)${OFFSET})`;
const DATES = list(`${DATE}(?: ?- ?(?:${DATE}|(?:0?[1-9]|[12]\\d|3[01])(?!\\d|:\\d))|\\+)?`);
const YEARS = list("\\d{4}(?!\\d|:\\d)(?:-\\d{4}(?:/\\d)?|\\+)?");
const WEEKS = `week ?${list("\\d{1,2}(?:-\\d{1,2}(?:/\\d{1,2})?)?")}`;
const HOUR = "(?:[0-3]?\\d|4[0-8]):[0-5]\\d";
const SUN = "(?:sunrise|sunset|dawn|dusk)";
const TIME = `(?:${HOUR}|${SUN}|\\(${SUN}[+-]${HOUR}\\))`;
const TIMES = `(?:24/7|${list(`${TIME}(?: ?- ?${TIME}\\+?|\\+)`)})`;

function list(item: string): string {
  return `(?:${item}(?: ?, ?${item})*)`;
}

/** The parts of a rule in their order; each is optional. */
const parts = [YEARS, DATES, WEEKS, ":", DAYS, TIMES, "(?:off|closed|open|unknown)", '"[^"]*"'].map(
  (part) => new RegExp(`${part}(?![A-Za-z0-9])`, "y"),
);
const BETWEEN_RULES = /\s*(?:;|\|\||,)\s*/y;
const SPACE = /\s*/y;

/** Maximum characters, as in OpenStreetMap. */
const MAX_LENGTH = 255;

/** Returns opening hours in their canonical spelling; undefined for an invalid text. */
export function openingHoursFrom(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value.trim().replaceAll(/ {2,}/g, " ");
  return text.length <= MAX_LENGTH && areRules(text) ? text : undefined;
}

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
    if (at === text.length) return !text.trimEnd().endsWith(",");
  }
}
