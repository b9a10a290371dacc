import { keyStatus } from "@bikeshare/rules";
import { effectiveRateLimit } from "../../partners/keys/key.rules.ts";
import type { KeyRow } from "../../partners/keys/service.ts";
import type { KeyFacts } from "./key-problems.rules.ts";

/** What the rules need to know of a key. @param fallback requests in any 60 s for keys without a number of their own */
export function factsOf(key: KeyRow, fallback: number, now: number): KeyFacts {
  const status = keyStatus(key, now);
  return {
    ...key,
    rateLimit: effectiveRateLimit(key, fallback),
    status: status === "active" && key.partner_suspended ? "suspended" : status,
  };
}
