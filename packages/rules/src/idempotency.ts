import { IDEMPOTENCY_KEY_HOURS } from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

/*
 * Rules of `Idempotency-Key`. A repeated request gets the stored response of the first one. It counts as the same request
 * only if both bodies are equal JSON.
 */

/** Returns the instant before which stored responses to an `Idempotency-Key` are no longer kept. */
export function forgottenBefore(now: number): Date {
  return new Date(now - IDEMPOTENCY_KEY_HOURS * 3_600_000);
}

/**
 * Maximum nesting of a JSON value. Valid bodies have up to 8 levels (geofencing zones); thousands would exhaust the
 * stack.
 */
const MAX_DEPTH = 100;

/**
 * Returns a JSON value as a canonical text, so that equal values have equal texts: without spaces, and with members sorted
 * by name. Undefined gives an empty text.
 * @throws ServiceError `invalid_request` when it is nested too deeply
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) throw serviceError("invalid_request", "bodyTooDeep", { limit: MAX_DEPTH });
  if (value === undefined) return "";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member, depth + 1)}`);
  return `{${members.join(",")}}`;
}
