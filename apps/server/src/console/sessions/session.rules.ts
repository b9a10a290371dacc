import { hash, timingSafeEqual } from "node:crypto";

/** Milliseconds without a request after which a session ends: a working day, so that one sign-in a day suffices. */
const IDLE_TIMEOUT_MS = 8 * 3_600_000;
/** Milliseconds after which a session ends however much it is used: a stolen one is of no use the week after. */
const SESSION_LIFETIME_MS = 7 * 24 * 3_600_000;
/** Minutes after a sign-in or a confirmation in which endpoints that need a confirmation can be called. */
export const CONFIRMATION_MINUTES = 10;
/** Milliseconds between two writes of a session's last use: about 3 % of `IDLE_TIMEOUT_MS` is exact enough. */
const LAST_USE_INTERVAL_MS = 15 * 60_000;

/** The times that decide whether a session is valid. */
interface SessionTimes {
  readonly last_used_at: Date;
  readonly expires_at: Date;
  readonly confirmed_at: Date;
}

/** Tells whether a session has neither expired nor been idle for too long. */
export function isActive({ last_used_at, expires_at }: SessionTimes, now: number): boolean {
  return now < expires_at.getTime() && now < last_used_at.getTime() + IDLE_TIMEOUT_MS;
}

/** Returns when a session that begins now expires. */
export function expiryOf(now: number): Date {
  return new Date(now + SESSION_LIFETIME_MS);
}

/** Returns the time until which the session may call endpoints that need a confirmation. */
export function confirmedUntil({ confirmed_at }: SessionTimes): Date {
  return new Date(confirmed_at.getTime() + CONFIRMATION_MINUTES * 60_000);
}

/** Tells whether the last use must be written. */
export function isLastUseDue({ last_used_at }: SessionTimes, now: number): boolean {
  return now >= last_used_at.getTime() + LAST_USE_INTERVAL_MS;
}

const TOKEN_BYTES = 32;

/** Returns a random secret, such as for a session's cookie or an invitation's link. The service stores its hash at most. */
export function makeToken(randomBytes: (bytes: number) => Uint8Array): string {
  return Buffer.from(randomBytes(TOKEN_BYTES)).toString("base64url");
}

/** Returns a token's stored hash. No salt is needed: 32 random bytes cannot be guessed. */
export function hashToken(token: string): Buffer {
  return hash("sha256", token, "buffer");
}

/** Tells whether a text has the form of a token. Other texts need no look-up. */
export function isToken(text: string): boolean {
  // `TOKEN_BYTES` are 43 characters of Base64.
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Returns the token that a page sends with its changes. It derives from the cookie's token, which no page can read. */
export function csrfTokenOf(token: string): string {
  return hash("sha256", `csrf ${token}`, "base64url");
}

/** Tells whether a page has sent the right CSRF token. Compares in constant time. */
export function isCsrfToken(presented: string, token: string): boolean {
  const expected = Buffer.from(csrfTokenOf(token));
  const given = Buffer.from(presented);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
