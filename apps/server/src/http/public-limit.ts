import { RATE_WINDOW_SECONDS } from "@bikeshare/contract";
import { type RateDecision, type RateLimiter, type ServiceError, serviceError } from "@bikeshare/rules";
import type { RefusedRequests } from "./refused-requests.ts";
import { countedAddress } from "./transport.ts";

/**
 * The default limit of requests without a key from one address in any 60 s. A reader of eight feeds every 10 s sends 48
 * requests, so that a dozen readers behind one address stay below the limit.
 */
export const DEFAULT_PUBLIC_RATE_LIMIT = 600;

/**
 * Bytes of an answer that count as one request. Too low: readers of large feeds exceed the limit. Too high: one address can
 * request gigabytes a minute, at everybody's expense.
 */
const COUNTED_REQUEST_BYTES = 256 * 1024;

/** Counts requests to paths that need no key, by address. */
export interface PublicLimit {
  /**
   * Counts a request before anything is done for it. Undefined: it was counted at once, in this process's memory.
   * @throws ServiceError `rate_limited` for an address that has used up its requests
   */
  count(address: string): Promise<void> | undefined;
  /** Counts a large answer as several requests, by its size. The answer is sent anyway; later requests may be refused. */
  countAnswer(address: string, bytes: number): void;
}

/** Creates the limit of requests without a key. @param limit requests of one address in any 60 s */
export function createPublicLimit(
  limiter: RateLimiter,
  limit: number,
  refusedRequests: Pick<RefusedRequests, "refused">,
): PublicLimit {
  return {
    count(address) {
      const counted = countedAddress(address);
      const check = (decision: RateDecision): undefined => {
        if (decision.allowed) return;
        refusedRequests.refused("rate_limited", { address: counted });
        throw rateLimited(decision);
      };
      const decision = limiter.take(counted, limit);
      return decision instanceof Promise ? decision.then(check) : check(decision);
    },
    countAnswer(address, bytes) {
      if (bytes <= COUNTED_REQUEST_BYTES) return;
      const counted = countedAddress(address);
      // The request itself is counted already.
      for (let more = Math.ceil(bytes / COUNTED_REQUEST_BYTES) - 1; more > 0; more--) {
        // A failure to count must not fail the response.
        Promise.resolve(limiter.take(counted, limit)).catch(() => undefined);
      }
    },
  };
}

function rateLimited({ limit, resetSeconds }: RateDecision): ServiceError {
  return serviceError("rate_limited", "address", {
    limit,
    windowSeconds: RATE_WINDOW_SECONDS,
    retryAfterSeconds: resetSeconds,
  });
}
