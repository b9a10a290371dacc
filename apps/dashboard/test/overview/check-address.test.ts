import { expect, it } from "vitest";
import { checkAddress } from "../../src/pages/overview/check-address.ts";
import { shareText } from "../../src/pages/overview/figures.tsx";

const partner = { systemId: "main", partnerId: "partner_1", isFirstSystem: true };
const operator = { systemId: "oslo", partnerId: undefined, isFirstSystem: false };
const since = "2026-03-01T12:00:00.000Z";

it("a partner's check leads to its own page, with the filters in the address", () => {
  const link = { page: "deliveries", query: { status: "failed", since } } as const;
  expect(checkAddress({ link, partner_id: null }, partner)?.href).toBe(
    `/partners/partner_1/deliveries?status=failed&since=${encodeURIComponent(since)}`,
  );
});

it("the operator is led to a partner's webhook pages, to its own pages of keys, and stays in the system", () => {
  const of = (page: "webhook" | "keys" | "feeds", partnerId: string | null) =>
    checkAddress({ link: { page, query: {} }, partner_id: partnerId }, operator)?.href;
  expect(of("webhook", "partner_2")).toBe("/partners/partner_2/webhook?system=oslo");
  expect(of("keys", "partner_2")).toBe("/operator/keys?system=oslo");
  expect(of("feeds", null)).toBe("/operator/feeds?system=oslo");
});

it.each([
  [0, 0, "–"],
  [0, 10, "0 %"],
  [1, 10_000, "< 0.1 %"],
  [1, 3, "33.3 %"],
])("%i of %i is %s", (part, whole, text) => {
  expect(shareText(part, whole)).toBe(text);
});
