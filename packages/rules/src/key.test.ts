import { describe, expect, it } from "vitest";
import { keyStatus } from "./key.ts";

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
