import { IDEMPOTENCY_KEY_HOURS } from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

/** Answers that were made before this instant are no longer kept. */
export function forgottenBefore(now: number): Date {
  return new Date(now - IDEMPOTENCY_KEY_HOURS * 3_600_000);
}

/** Values inside one another. Our own bodies have 4; some thousands exhaust the stack, and fit into a body easily. */
const MAX_DEPTH = 100;

/**
 * Returns a JSON value as the one text that all its writings have in common: no spaces, members by name. Undefined is empty.
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
