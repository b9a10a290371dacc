import { apiRequest } from "../contract/endpoints.ts";
import type { Answer } from "../http/client.ts";
import type { CreateScenario, Exchange } from "../run-at-rate/scenario.ts";
import { type KeyUse, rateLimitViolations } from "./rate-limit.rules.ts";
import { rotation } from "./reading.ts";

/** Uses keys far beyond their rate, and checks that exactly what the limit allows is accepted. */
export const limitStorm: CreateScenario = ({ keys }) => {
  const nextKey = rotation(keys);
  const uses = new Map<string, KeyUse[]>(keys.map((key) => [key, []]));
  let policy = { requests: 0, windowMs: 0 };
  return {
    next() {
      const key = nextKey();
      return {
        request: { ...apiRequest("stations.list", { query: { limit: 1 } }), key },
        expected: ["200", "429 rate_limited"],
        onAnswer(answer) {
          policy = policyOf(answer) ?? policy;
          const { status, startedAt, endedAt } = answer;
          if (status === 200 || status === 429) {
            uses.get(key)?.push({ isAccepted: status === 200, sentAt: startedAt, answeredAt: endedAt });
          }
          return undefined;
        },
      };
    },
    finish: () => ({
      violations: [...uses].flatMap(([key, used]) =>
        rateLimitViolations(used, policy).map((violation) => `key …${key.slice(-4)}: ${violation}`),
      ),
    }),
  };
};

/** Parses the rate limit in an answer's headers: `RateLimit-Policy: "default";q=60;w=60`. */
function policyOf({ headers }: Answer): { requests: number; windowMs: number } | undefined {
  const [, requests, seconds] = /q=(\d+);w=(\d+)/.exec(String(headers["ratelimit-policy"])) ?? [];
  return requests === undefined ? undefined : { requests: Number(requests), windowMs: Number(seconds) * 1000 };
}

/**
 * A key that no service has made, with the right form, so that it has to be looked up. Its last six characters are the
 * checksum. It is written here, because a load test knows nothing of the service beyond its contract.
 */
const UNKNOWN_KEY = `bss_live_${"0".repeat(34)}25oWq9`;

/** Sends requests that must be rejected: without a key, with an unknown key, without the scope, for unknown ids. */
export const deniedAccess: CreateScenario = ({ keys, operatorKey, random, idPrefix }) => {
  const nextKey = rotation(keys);
  let count = 0;
  const unknownId = () => `${idPrefix}nothing-${count++}`;
  const kinds: readonly [() => Exchange, ...(() => Exchange)[]] = [
    () => ({ request: { ...apiRequest("rides.list", {}), key: undefined }, expected: ["401 unauthorized"] }),
    () => ({
      request: { ...apiRequest("stations.list", {}), key: UNKNOWN_KEY },
      // The service limits an address that sends many wrong keys.
      expected: ["401 unauthorized", "429 rate_limited"],
    }),
    () => ({
      request: {
        ...apiRequest("operator.stations.offline", { body: { items: [{ id: unknownId() }] } }),
        key: nextKey(),
      },
      expected: ["403 forbidden"],
    }),
    () => ({ request: { ...apiRequest("bikes.list", {}), key: operatorKey }, expected: ["403 forbidden"] }),
    () => ({
      request: { ...apiRequest("rides.get", { params: { id: unknownId() } }), key: nextKey() },
      expected: ["404 not_found"],
    }),
    () => ({
      request: { ...apiRequest("stations.get", { params: { id: unknownId() } }), key: nextKey() },
      expected: ["404 not_found"],
    }),
  ];
  return { next: () => random.pick(kinds)() };
};
