import { crc32 } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BASE_62,
  bearerIssue,
  bearerKey,
  isWellFormedKey,
  KEY_RANDOM_LENGTH,
  keyOf,
  keyStatus,
  toBase62,
} from "./key.ts";

fc.configureGlobal({ seed: 1 });

describe("a key's status", () => {
  const at = (time: number | null) => (time === null ? null : new Date(time));
  const status = (revokedAt: number | null, expiresAt: number | null, now: number) =>
    keyStatus({ revoked_at: at(revokedAt), expires_at: at(expiresAt) }, now);

  it.each([
    [null, null, 10, "active"],
    [null, 11, 10, "active"],
    [null, 10, 10, "expired"],
    [11, null, 10, "active"],
    [10, null, 10, "revoked"],
    [9, 9, 10, "revoked"],
  ] as const)("revoked at %s, expiring at %s, looked at at %s: %s", (revokedAt, expiresAt, now, expected) => {
    expect(status(revokedAt, expiresAt, now)).toBe(expected);
  });
});

describe("a key's form", () => {
  const anyRandom = fc.string({
    unit: fc.constantFrom(...BASE_62.split("")),
    minLength: KEY_RANDOM_LENGTH,
    maxLength: KEY_RANDOM_LENGTH,
  });

  it("ends in the CRC-32 of the rest, in base 62", () => {
    fc.assert(
      fc.property(fc.constantFrom("live" as const, "test" as const, "operator" as const), anyRandom, (kind, random) => {
        const key = keyOf(kind, random);
        expect(key).toBe(`bss_${kind}_${random}${toBase62(crc32(`bss_${kind}_${random}`), 6)}`);
        expect(isWellFormedKey(key)).toBe(true);
        expect(isWellFormedKey(key.replace(/.$/, (last) => (last === "0" ? "1" : "0")))).toBe(false);
      }),
    );
  });
});

it.each([
  ["Bearer abc", "abc"],
  ["bearer abc", "abc"],
  ["Bearerabc", "missingSpace"],
  ["Bearer", "notOneKey"],
  ["Bearer a b", "notOneKey"],
  ["Basic abc", "notBearer"],
])("the header %s brings %s", (header, expected) => {
  expect(bearerKey(header) ?? bearerIssue(header)).toBe(expected);
});
