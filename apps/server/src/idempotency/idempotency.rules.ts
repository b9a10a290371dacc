import { hash } from "node:crypto";
import { IDEMPOTENCY_KEY_HOURS } from "@bikeshare/contract";
import { serviceError } from "../errors/service-error.ts";

/** Before which instant an answer must have been made to count no longer. */
export function forgottenBefore(now: number): Date {
  return new Date(now - IDEMPOTENCY_KEY_HOURS * 3_600_000);
}

/**
 * SHA-256 of what a request asks for: two bodies that say the same, in whatever order and spacing, have the same.
 * @throws ServiceError `invalid_request` when the body is nested too deeply
 */
export function hashOfBody(body: unknown): Uint8Array {
  return hash("sha256", canonicalText(body), "buffer");
}

/** Values inside one another. Our own bodies have 4; some thousands exhaust the stack, and fit into a body easily. */
const MAX_DEPTH = 100;

/** A JSON value as the one text that all its writings have in common: no spaces, members by name. Undefined is empty. */
export function canonicalText(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) {
    throw serviceError("invalid_request", "bodyTooDeep", { limit: MAX_DEPTH });
  }
  if (value === undefined) return "";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, depth + 1)).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member, depth + 1)}`);
  return `{${members.join(",")}}`;
}
