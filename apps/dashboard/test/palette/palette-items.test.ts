import type { Membership } from "@bikeshare/contract/console";
import { expect, it } from "vitest";
import { paletteItems } from "../../src/palette/palette-items.ts";

const named = { system_id: "main", system_name: "Oslo", role: "viewer" } as const;
const partner = { ...named, partner_id: "partner_1", partner_name: "Transit App" } as unknown as Membership;
const operator = { ...named, partner_id: null, partner_name: null } as unknown as Membership;

/** Returns the addresses that the palette suggests for a text. */
const found = (text: string, membership: Membership) =>
  paletteItems(text, { memberships: [membership], all: [membership], recent: [] }).map(({ address }) => address);

it.each([
  ["signature", partner, "/partners/partner_1/webhook"],
  ["held", partner, "/partners/partner_1/deliveries?status=held"],
  ["failing", partner, "/partners/partner_1/deliveries?status=unsuccessful"],
  ["signature", operator, "/operator/endpoints"],
  ["held", operator, "/operator/endpoints"],
  ["started", operator, "/operator/rides?status=started"],
] as const)("the palette finds what is on a page by the word for it: %s", (text, membership, address) => {
  expect(found(text, membership)).toEqual([address]);
});
