import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { ApiError } from "./api-error.ts";
import { countedAddress } from "./client-address.ts";
import type { RateDecision, RateLimiter } from "./rate-limit.ts";
import type { RefusedRequests } from "./refused-requests.ts";

/**
 * Requests without a key that an address may make in any 60 s where nobody says another number: eight feeds every 10 s
 * are 48, so that a dozen readers behind one address go on unhindered.
 */
export const DEFAULT_PUBLIC_RATE_LIMIT = 600;

/**
 * Counts requests to paths that need no key, by address, before anything is done for them.
 * @returns what throws ApiError `rate_limited` for an address that has used up its requests
 */
export function createPublicLimit(
  limiter: RateLimiter,
  limit: number,
  refusals: Pick<RefusedRequests, "refused">,
): (address: string) => Promise<void> | undefined {
  return (address) => {
    const counted = countedAddress(address);
    const check = (decision: RateDecision): undefined => {
      if (decision.allowed) return;
      refusals.refused("rate_limited", { address: counted });
      throw rateLimited(decision);
    };
    const decision = limiter.take(counted, limit);
    return decision instanceof Promise ? decision.then(check) : check(decision);
  };
}

function rateLimited({ limit, resetSeconds }: RateDecision): ApiError {
  return new ApiError(
    "rate_limited",
    `This address has made ${limit} requests without a key in the last ${RATE_WINDOW_SECONDS} s. Try again in ${resetSeconds} s.`,
    { headers: { "retry-after": String(resetSeconds) } },
  );
}
