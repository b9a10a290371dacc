// These functions parse a fact's value in any spelling that feeds and operators use. They return undefined for an invalid
// value.

/**
 * Returns a text as a GBFS language: two or three letters, and optionally a country. `en_us` is `en-US`, `zh-Hans-CN` is
 * `zh-CN`.
 */
export function languageFrom(value: unknown): string | undefined {
  const parts = typeof value === "string" ? /^([a-z]{2,3})(?:[-_].*)?$/i.exec(value.trim()) : null;
  const [whole, language] = parts ?? [];
  if (whole === undefined || language === undefined) return undefined;
  const country = /[-_]([a-z]{2})(?:[-_]|$)/i.exec(whole)?.[1];
  return language.toLowerCase() + (country === undefined ? "" : `-${country.toUpperCase()}`);
}

/** Returns the name of an IANA time zone that this machine knows, in its canonical spelling. */
export function timeZoneFrom(value: unknown): string | undefined {
  // `Intl` also accepts an offset such as +01:00, which is no time zone.
  if (typeof value !== "string" || !/^[a-z]/i.test(value.trim())) return undefined;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: value.trim() }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

const EMAIL = /^[\w+-]+(\.[\w+-]+)*@([a-z\d]([a-z\d-]*[a-z\d])?\.)+[a-z]{2,}$/i;

/** Returns a mail address that consists of commonly accepted characters. */
export function emailFrom(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  // RFC 5321 allows no more characters. The bound also keeps the pattern fast.
  return text.length <= 254 && EMAIL.test(text) ? text : undefined;
}
