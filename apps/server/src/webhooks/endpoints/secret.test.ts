import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createSecretCipher, createSecret, SecretsFileMismatch } from "./secret.ts";

fc.configureGlobal({ seed: 1 });

const place = { systemId: "main", endpointId: "endpoint_1", secretId: "secret_1" };
const key = (byte: number, id = byte) => ({ id, key: new Uint8Array(32).fill(byte) });

it("a secret is whsec_ and 32 random bytes in base64url", () => {
  const made = createSecret(randomBytes);
  expect(made).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
  expect(Buffer.from(made.slice(6), "base64url")).toHaveLength(32);
  expect(createSecret(randomBytes)).not.toBe(made);
});

it("what is sealed opens again, and shows nothing of the secret", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (systemId, endpointId, secretId, text) => {
      const cipher = createSecretCipher([key(1)]);
      const sealed = cipher.encrypt({ systemId, endpointId, secretId }, text);
      expect(cipher.decrypt({ systemId, endpointId, secretId }, sealed)).toBe(text);
      if (text.length > 3) expect(sealed).not.toContain(text);
    }),
  );
});

it.each([
  { ...place, systemId: "other" },
  { ...place, endpointId: "endpoint_2" },
  { ...place, secretId: "secret_2" },
  { systemId: "mainendpoint_1", endpointId: "", secretId: "secret_1" },
])("does not open in another place: %j", (other) => {
  const cipher = createSecretCipher([key(1)]);
  const sealed = cipher.encrypt(place, "whsec_text");
  expect(() => cipher.decrypt(other, sealed)).toThrow(/damaged/);
});

it("any byte that is changed is noticed, and the secret is not in the message", () => {
  const cipher = createSecretCipher([key(1)]);
  const sealed = cipher.encrypt(place, "whsec_text");
  const start = sealed.lastIndexOf(".") + 1;
  const bytes = Buffer.from(sealed.slice(start), "base64url");
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => cipher.decrypt(place, sealed.slice(0, start) + changed.toString("base64url"))).toThrow(/is damaged/);
  }
  expect(() => cipher.decrypt(place, sealed.slice(0, start))).toThrow(/is damaged/);
});

it("the first key seals, every key opens", () => {
  const before = createSecretCipher([key(1)]);
  const after = createSecretCipher([key(2), key(1)]);
  const old = before.encrypt(place, "old");
  expect(after.decrypt(place, old)).toBe("old");
  expect(after.encrypt(place, "new")).toMatch(/^1\.2\./);
  expect(before.canDecrypt(after.encrypt(place, "new"))).toBe(false);
});

it("a key of the same id from another file is told apart, and the message says what to do", () => {
  const sealed = createSecretCipher([key(1, 1)]).encrypt(place, "text");
  const other = createSecretCipher([key(2, 1)]);
  expect(other.canDecrypt(sealed)).toBe(false);
  expect(() => other.decrypt(place, sealed)).toThrow(SecretsFileMismatch);
  expect(() => other.decrypt(place, sealed)).toThrow(
    /secret of endpoint_1 was encrypted with a key that this SECRETS_FILE does not have\. Set SECRETS_FILE/,
  );
});

it.each(["", ".", "1", "1.1.x", "no such thing"])("a text that was never sealed is not ours: %j", (text) => {
  expect(createSecretCipher([key(1)]).canDecrypt(text)).toBe(false);
});
