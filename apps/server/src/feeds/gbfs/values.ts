import { isPathStep, MAX_IDENTIFIER_LENGTH } from "@bikeshare/contract";

// These functions parse a feed's values in any spelling that occurs in feeds of GBFS 1.0 to 3.1. They return undefined for
// an invalid value. They treat null like an absent value.

export type JsonObject = { readonly [name: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an id: up to 255 printable characters that can be part of a path. Accepts numbers, which some feeds write. */
export function identifierFrom(value: unknown): string | undefined {
  const text = typeof value === "number" && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text !== "string" || text.length > MAX_IDENTIFIER_LENGTH || text.trim() === "") return undefined;
  if (isPathStep(text)) return undefined;
  return /[\p{Cc}\p{Cs}]/u.test(text) ? undefined : text;
}

/**
 * Returns a text. Accepts a number. Of a list `[{ text, language }]`, as GBFS 3.x has it, returns the English text, or else
 * the first. Changes what PostgreSQL cannot store: removes NUL, and replaces lone surrogates by U+FFFD. Removes blanks around
 * the text. Undefined: it is of another type, or nothing is left.
 */
export function textFrom(value: unknown): string | undefined {
  if (Array.isArray(value)) return localisedText(value);
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  if (typeof value !== "string") return undefined;
  const text = value.replaceAll("\0", "").toWellFormed().trim();
  return text === "" ? undefined : text;
}

function localisedText(variants: readonly unknown[]): string | undefined {
  const objects = variants.filter(isObject);
  const english = objects.filter(({ language }) => typeof language === "string" && /^en\b/i.test(language));
  for (const variant of [...english, ...objects]) {
    const text = Array.isArray(variant["text"]) ? undefined : textFrom(variant["text"]);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Returns a finite number. Accepts one that is written as a string. */
export function numberFrom(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Returns a boolean. Accepts `true`, `1`, `"1"`, `"true"`, and `false`, `0`, `"0"`, `"false"`. */
export function booleanFrom(value: unknown): boolean | undefined {
  const word = typeof value === "string" ? value.trim().toLowerCase() : value;
  if (word === true || word === 1 || word === "1" || word === "true") return true;
  if (word === false || word === 0 || word === "0" || word === "false") return false;
  return undefined;
}

/** The year 5138 in seconds since 1970. A greater number must be milliseconds. */
const GREATEST_SECONDS = 100_000_000_000;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$/;

/** Returns an instant in milliseconds since 1970. Accepts seconds or milliseconds since 1970, also as text, and RFC 3339. */
export function instantFrom(value: unknown): number | undefined {
  const number = numberFrom(value);
  if (number !== undefined) return Math.trunc(number > GREATEST_SECONDS ? number : number * 1000);
  if (typeof value !== "string" || !RFC_3339.test(value.trim())) return undefined;
  const instant = Date.parse(value.trim());
  return Number.isNaN(instant) ? undefined : instant;
}
