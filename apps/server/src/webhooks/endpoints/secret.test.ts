import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createSecret, createSecretCipher, SecretsFileMismatch } from "./secret.ts";

const owner = { systemId: "main", endpointId: "endpoint_1", secretId: "secret_1" };
const key = (byte: number, id = byte) => ({ id, key: new Uint8Array(32).fill(byte) });

it("a secret is whsec_ and 32 random bytes in base64url", () => {
  const made = createSecret(randomBytes);
  expect(made).toMatch(/^whsec_[A-Za-z0-9_-]{43}$/);
  expect(Buffer.from(made.slice(6), "base64url")).toHaveLength(32);
  expect(createSecret(randomBytes)).not.toBe(made);
});

it("what is encrypted decrypts again, and shows nothing of the secret", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (systemId, endpointId, secretId, text) => {
      const cipher = createSecretCipher([key(1)]);
      const encrypted = cipher.encrypt({ systemId, endpointId, secretId }, text);
      expect(cipher.decrypt({ systemId, endpointId, secretId }, encrypted)).toBe(text);
      if (text.length > 3) expect(encrypted).not.toContain(text);
    }),
  );
});

it.each([
  { ...owner, systemId: "other" },
  { ...owner, endpointId: "endpoint_2" },
  { ...owner, secretId: "secret_2" },
  { systemId: "mainendpoint_1", endpointId: "", secretId: "secret_1" },
])("does not decrypt in another row: %j", (other) => {
  const cipher = createSecretCipher([key(1)]);
  const encrypted = cipher.encrypt(owner, "whsec_text");
  expect(() => cipher.decrypt(other, encrypted)).toThrow(/damaged/);
});

it("any byte that is changed is noticed, and the secret is not in the message", () => {
  const cipher = createSecretCipher([key(1)]);
  const encrypted = cipher.encrypt(owner, "whsec_text");
  const start = encrypted.lastIndexOf(".") + 1;
  const bytes = Buffer.from(encrypted.slice(start), "base64url");
  for (const index of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    expect(() => cipher.decrypt(owner, encrypted.slice(0, start) + changed.toString("base64url"))).toThrow(
      /is damaged/,
    );
  }
  expect(() => cipher.decrypt(owner, encrypted.slice(0, start))).toThrow(/is damaged/);
});

it("the first key encrypts, every key decrypts", () => {
  const before = createSecretCipher([key(1)]);
  const after = createSecretCipher([key(2), key(1)]);
  const old = before.encrypt(owner, "old");
  expect(after.decrypt(owner, old)).toBe("old");
  expect(after.encrypt(owner, "new")).toMatch(/^1\.2\./);
  expect(before.canDecrypt(after.encrypt(owner, "new"))).toBe(false);
});

it("a key of the same id from another file is told apart, and the message says what to do", () => {
  const encrypted = createSecretCipher([key(1, 1)]).encrypt(owner, "text");
  const other = createSecretCipher([key(2, 1)]);
  expect(other.canDecrypt(encrypted)).toBe(false);
  expect(() => other.decrypt(owner, encrypted)).toThrow(SecretsFileMismatch);
  expect(() => other.decrypt(owner, encrypted)).toThrow(
    /secret of endpoint_1 was encrypted with a key that this SECRETS_FILE does not have\. Set SECRETS_FILE/,
  );
});

it.each(["", ".", "1", "1.1.x", "no such thing"])("text that was never encrypted is not decrypted: %j", (text) => {
  expect(createSecretCipher([key(1)]).canDecrypt(text)).toBe(false);
});
