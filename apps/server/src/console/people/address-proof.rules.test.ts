import { describe, expect, it, test } from "vitest";
import { type AddressProof, covers, openingOf, proofOfLink } from "./people.rules.ts";

const mailed: AddressProof = { by: "mail", systemId: null };
const byOperator: AddressProof = { by: "operator", systemId: "main" };
const ofPartner = { systemId: "main", partnerId: "p1" };
const ofOther = { systemId: "main", partnerId: "p2" };
const ofOperator = { systemId: "main", partnerId: null };
const elsewhere = { systemId: "elsewhere", partnerId: "p1" };

describe("what a link does to an account that exists", () => {
  test.each([
    [
      "a partner's admin saw it, and the account is of that partner alone",
      { ...ofPartner, proof: null },
      null,
      [ofPartner],
      false,
      "opens",
    ],
    ["… and has a passkey", { ...ofPartner, proof: null }, null, [ofPartner], true, "needs_sign_in"],
    [
      "… and is another partner's too",
      { ...ofPartner, proof: null },
      null,
      [ofPartner, ofOther],
      false,
      "needs_sign_in",
    ],
    [
      "… and is the operator's too",
      { ...ofPartner, proof: null },
      null,
      [ofPartner, ofOperator],
      false,
      "needs_sign_in",
    ],
    ["… and was proved", { ...ofPartner, proof: null }, mailed, [ofPartner], false, "needs_sign_in"],
    [
      "the operator handed it out, and nobody had proved the address",
      { ...ofOperator, proof: byOperator },
      null,
      [ofPartner],
      true,
      "takes_over",
    ],
    [
      "… and the account is of another system too",
      { ...ofOperator, proof: byOperator },
      null,
      [elsewhere],
      true,
      "needs_sign_in",
    ],
    ["… and the address was proved", { ...ofOperator, proof: byOperator }, mailed, [ofPartner], true, "needs_sign_in"],
    [
      "… and there is nothing to sign in with",
      { ...ofOperator, proof: byOperator },
      mailed,
      [ofPartner],
      false,
      "opens",
    ],
    [
      "it was mailed, and another system's operator vouched for the holder",
      { ...elsewhere, proof: mailed },
      byOperator,
      [ofPartner],
      true,
      "takes_over",
    ],
    [
      "it was mailed, and the same system's operator vouched for the holder",
      { ...ofOther, proof: mailed },
      byOperator,
      [ofPartner],
      true,
      "needs_sign_in",
    ],
  ] as const)("%s", (_, link, proof, memberships, hasCredentials, expected) => {
    expect(openingOf(link, { proof, memberships, hasCredentials })).toBe(expected);
  });
});

it("lets an operator vouch in their own system, and the command line in all", () => {
  const link = { system_id: "main", proves: "operator", created_by: "person:x" };
  expect(covers(proofOfLink(link), [ofPartner])).toBe(true);
  expect(covers(proofOfLink(link), [ofPartner, elsewhere])).toBe(false);
  expect(covers(proofOfLink({ ...link, created_by: "cli:root" }), [elsewhere])).toBe(true);
  expect(proofOfLink({ ...link, proves: null, created_by: "cli:root" })).toBeNull();
});
