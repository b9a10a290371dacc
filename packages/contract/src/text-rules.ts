import { issueText } from "./messages.ts";

// Rules for texts of requests. The database rejects NUL and lone surrogates; the other rules reject values that look alike,
// or that nobody can see or type.

/** Letters, marks, digits, punctuation and signs of any script, with plain spaces between them. May be empty. */
const VISIBLE = /^(?! )[\p{L}\p{M}\p{N}\p{P}\p{S} ]*(?<! )$/u;

/** Any characters but controls, line breaks and lone surrogates; no blanks at the ends. May be empty. */
const ONE_LINE = /^(?!\s)[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]*(?<!\s)$/u;

/** Tells whether a text consists of visible characters, with plain spaces only between them: fit for an identifier. */
export function isVisible(text: string): boolean {
  return VISIBLE.test(text);
}

/** Tells whether a text is one line without control characters and without blanks at its ends: fit for a name. */
export function isOneLine(text: string): boolean {
  return ONE_LINE.test(text);
}

/** Tells whether a text of several lines can be kept: it has no NUL and no lone surrogate. */
export function isText(text: string): boolean {
  return !/[\0\p{Cs}]/u.test(text);
}

/** Tells whether a text is the address of a page, without a user name or password in it. */
export function isWebAddress(text: string): boolean {
  const url = /^https?:\/\/\S+$/i.test(text) && isOneLine(text) ? URL.parse(text) : null;
  return url !== null && url.username === "" && url.password === "";
}

/**
 * Characters that change the direction of the text after them: embeddings, overrides and isolates. Direction marks (LRM, RLM,
 * ALM) are allowed, since scripts need them.
 */
const BIDI_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/;

/**
 * Tells whether a text may be the name of somebody, which is shown among other texts: one line without characters that
 * reorder it.
 */
export function isPlainName(text: string): boolean {
  return isOneLine(text) && !BIDI_CONTROLS.test(text);
}

/** Tells whether an id cannot be part of a path, because URL libraries treat it as a relative step, escaped or not. */
export function isPathStep(id: string): boolean {
  return id === "." || id === "..";
}

/** A rectangle in WGS 84 degrees, borders included; with west > east it crosses the antimeridian. */
export interface BoundingBox {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** The parts of a bounding box in the order in which they are written, and the degrees that each may have. */
const PARTS = [
  ["min_lon", 180],
  ["min_lat", 90],
  ["max_lon", 180],
  ["max_lat", 90],
] as const;

/** The form of a bounding box: four decimal numbers. Their bounds are checked later, so that a message can name the part. */
export const BOUNDING_BOX = /^\s*-?\d+(\.\d+)?\s*(,\s*-?\d+(\.\d+)?\s*){3}$/;

/** Parses `min_lon,min_lat,max_lon,max_lat`. @returns the box, or the issue with the text */
export function readBoundingBox(text: string): BoundingBox | string {
  if (!BOUNDING_BOX.test(text)) return issueText("boundingBox");
  const numbers = text.split(",").map(Number);
  const [west = 0, south = 0, east = 0, north = 0] = numbers;
  for (const [index, [part, bound]] of PARTS.entries()) {
    const value = numbers[index] ?? 0;
    if (Math.abs(value) > bound) return issueText("boundingBoxDegrees", { part, bound, value });
  }
  return south > north ? issueText("boundingBoxOrder", { south, north }) : { west, south, east, north };
}

/** Tells whether a text is an integer in decimal digits, 1 or more. */
export function isPositiveInteger(text: string): boolean {
  return /^\d+$/.test(text) && !/^0+$/.test(text);
}

/** Tells whether a text is an existing day, such as `2026-01-31`. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && isInstant(`${text}T00:00:00Z`);
}

/** An instant by RFC 3339. PostgreSQL accepts neither the year 0 nor offsets of 16 hours or more, so neither does this. */
const RFC_3339 = /^(?!0000)(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-](0\d|1[0-5]):[0-5]\d)$/;

/** Tells whether a text is an RFC 3339 instant with `Z` or an offset, on an existing day. */
export function isInstant(text: string): boolean {
  const [whole, year, month, day] = RFC_3339.exec(text) ?? [];
  if (whole === undefined) return false;
  // A day that does not exist changes the month: JavaScript makes the 30th of February a day in March.
  const date = new Date(`${year}-${month}-01T00:00:00Z`);
  date.setUTCDate(Number(day));
  return date.getUTCMonth() + 1 === Number(month) && Number(day) > 0;
}
