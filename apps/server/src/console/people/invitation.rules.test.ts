import { expect, it, test } from "vitest";
import { invitationUrl, isOpen, normalizedEmail, relyingParty } from "./people.rules.ts";

it("lets an invitation be accepted until it ends, once, and as long as its partner is there", () => {
  const open = { expires_at: new Date(1_000), accepted_at: null, revoked_at: null, partner_removed: false };
  expect(isOpen(open, 999)).toBe(true);
  expect(isOpen(open, 1_000)).toBe(false);
  const at = new Date(500);
  for (const change of [{ accepted_at: at }, { revoked_at: at }, { partner_removed: true }])
    expect(isOpen({ ...open, ...change }, 600)).toBe(false);
});

test.each([
  ["http://127.0.0.1:3000", "http://localhost:3000/dashboard/invitation#t"],
  ["http://[::1]:3000", "http://localhost:3000/dashboard/invitation#t"],
  ["https://bikes.example/", "https://bikes.example/dashboard/invitation#t"],
  ["https://127.0.0.1.bikes.example", "https://127.0.0.1.bikes.example/dashboard/invitation#t"],
])("the link at %s is %s", (baseUrl, url) => {
  expect(invitationUrl(baseUrl, "t")).toBe(url);
});

test.each([
  ["https://bikes.example/data", { id: "bikes.example", origin: "https://bikes.example" }],
  ["http://127.0.0.1:3000", { id: "localhost", origin: "http://localhost:3000" }],
  ["https://192.0.2.7", undefined],
  ["https://[2001:db8::1]:8443", undefined],
])("passkeys of %s belong to %j", (baseUrl, expected) => {
  expect(relyingParty(baseUrl)).toEqual(expected);
});

it("takes two addresses that differ in capitals for one, and no other letter for a k", () => {
  expect(normalizedEmail(" Ada.KÄSTNER@Example.com ")).toBe("ada.kästner@example.com");
  expect(normalizedEmail("bos\u{212A}@example.com")).not.toBe("bosk@example.com");
});
