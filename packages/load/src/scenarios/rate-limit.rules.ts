/** A request of one key, as its caller saw it. Times are in milliseconds of one clock. */
export interface KeyUse {
  readonly isAccepted: boolean;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** A key's limit: requests in any window. 0 requests: no answer has named it. */
export interface RateLimitPolicy {
  readonly requests: number;
  readonly windowMs: number;
}

/** How long after its window a request may still count: the specification allows a second. */
const LATE_RELEASE_MS = 1000;

/**
 * Returns where a key got more than its limit in a window, or less. The service counts a request at some time between
 * `sentAt` and `answeredAt`, so a violation is reported only if it holds for every such time. Nothing else may use the key.
 */
export function rateLimitViolations(uses: readonly KeyUse[], { requests, windowMs }: RateLimitPolicy): string[] {
  if (uses.length === 0) return [];
  if (requests === 0) return ["no answer had a RateLimit-Policy"];
  const accepted = uses.filter(({ isAccepted }) => isAccepted).toSorted((a, b) => a.sentAt - b.sentAt);
  const seconds = windowMs / 1000;
  // One request more than the limit allows, all certainly counted within one window.
  const tooMany = accepted.some((first, index) => {
    const group = accepted.slice(index, index + requests + 1);
    return group.length > requests && Math.max(...group.map(({ answeredAt }) => answeredAt)) - first.sentAt < windowMs;
  });
  const tooFew = uses.find((use) => !use.isAccepted && countedFor(use, accepted, windowMs) < requests);
  return [
    ...(tooMany ? [`more than ${requests} requests were accepted within ${seconds} s`] : []),
    ...(tooFew === undefined
      ? []
      : [
          `a request was rejected though only ${countedFor(tooFew, accepted, windowMs)} of ${requests} were accepted in the ${seconds} s before it`,
        ]),
  ];
}

/** Returns the maximum number of requests that may have counted when `rejected` was rejected. */
function countedFor(rejected: KeyUse, accepted: readonly KeyUse[], windowMs: number): number {
  const since = rejected.sentAt - windowMs - LATE_RELEASE_MS;
  return accepted.filter(({ sentAt, answeredAt }) => answeredAt > since && sentAt < rejected.answeredAt).length;
}
