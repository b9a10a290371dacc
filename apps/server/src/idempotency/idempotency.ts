import { hash } from "node:crypto";

import { IDEMPOTENCY_KEY_HOURS } from "@bikeshare/contract";

/** Before which instant an answer must have been made to count no longer. */
export function forgottenBefore(now: number): Date {
  return new Date(now - IDEMPOTENCY_KEY_HOURS * 3_600_000);
}

/** SHA-256 of what a request asks for: two bodies that say the same, in whatever order and spacing, have the same. */
export function hashOfBody(body: unknown): Uint8Array {
  return hash("sha256", canonicalText(body), "buffer");
}

/** A JSON value as the one text that all its writings have in common: no spaces, members by name. Undefined is empty. */
export function canonicalText(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`);
  return `{${members.join(",")}}`;
}
