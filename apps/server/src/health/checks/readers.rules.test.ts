import { expect, it } from "vitest";
import { checkEndpoint, checkKeys, type EndpointFacts, type KeyFacts, type Reader } from "./partner-checks.rules.ts";

const now = Date.UTC(2026, 5, 1);
const readers = ["partner", "operator"] as const satisfies readonly Reader[];
const nobody = { partner_id: null, partner_name: null };

const key: KeyFacts = {
  ...{ id: "key_1", name: null, last4: "abcd", rateLimit: 60, status: "active", made_by_partner: false, ...nobody },
  ...{ expires_at: new Date(now + 86_400_000), revoked_at: null, compromised_at: null, last_used_at: null },
  partner_suspended_at: null,
};
const paused = (reason: EndpointFacts["pause_reason"]): EndpointFacts => ({
  ...{ status: "paused", pause_reason: reason, paused_at: new Date(now), failing_since: null },
  ...{ pending: 0, held: 6, is_replaying: false },
});

it("tells each reader what that reader can do, and sends nobody to itself", () => {
  const hours = new Map([["key_1", { requests: 100, rate_limited: 9, most_in_minute: 60 }]]);
  const actionsFor = (reader: Reader) => [
    ...checkKeys([key], hours, { now, reader }),
    ...(["operator", "suspended", "failing"] as const).flatMap((reason) =>
      checkEndpoint(paused(reason), { reader, ...nobody, endpoint: null }),
    ),
  ];
  const [partner, operator] = readers.map((reader) => actionsFor(reader).map(({ fix }) => fix));
  expect(operator).toEqual([
    "Issue a key with a later expiry, and have it deployed before this one expires.",
    "Raise the limit of the key, or have its owner spread the requests and wait as Retry-After says.",
    "Resume sending on the webhook page, and send or drop what is held.",
    "End the suspension on the partner's page.",
    "Have the receiver repaired, then resume sending on the webhook page, and send or drop what is held.",
  ]);
  expect(operator?.join(" ")).not.toMatch(/the operator/i);
  expect(partner).toHaveLength(5);
  expect(partner?.join(" ")).toMatch(/ask the operator for one.*ask the operator to raise.*The operator resumes it/);
});

it("warns of the end of a partner's own key those who made it, not the operator", () => {
  const own = { ...key, made_by_partner: true };
  const [partner, operator] = readers.map((reader) => checkKeys([own], new Map(), { now, reader }));
  expect(partner).toMatchObject([{ check: "expiring keys" }]);
  expect(operator).toEqual([]);
});
