import type { AttemptEnd } from "./retry-policy.ts";

/**
 * Why an attempt failed, in one word by which the log is searched: `http_4xx` and its like for a whole response that is
 * no success, `unknown` where the process died, `set_aside` where it was not the first, otherwise what kept the response from being whole. Null: it succeeded.
 */
export function failureOf({ outcome, failure, status }: Pick<AttemptEnd, "outcome" | "failure" | "status">) {
  if (outcome === "succeeded") return null;
  if (outcome === "rejected") return `http_${Math.floor((status ?? 0) / 100)}xx`;
  return failure ?? "unknown";
}
