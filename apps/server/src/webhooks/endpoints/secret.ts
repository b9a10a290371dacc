import { hash } from "node:crypto";
import { createTextCipher, type KeySource, prepareKeys, type TextCipher } from "../../storage/secrets/encryption.ts";

/*
 * Creates the secrets with which deliveries are signed, and encrypts them for the database. The encryption keys come from
 * the secrets file of the deployment (SECRETS_FILE). API keys have nothing to do with this.
 */

/** A key that encrypts the secrets of webhooks. The first of several encrypts; all decrypt, so that keys can be replaced. */
export interface SecretKey {
  readonly id: number;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/** The row that a secret belongs to. It is authenticated: an encrypted secret cannot be decrypted in another row. */
interface SecretOwner {
  readonly systemId: string;
  readonly endpointId: string;
  readonly secretId: string;
}

/** Encrypts the secrets that deliveries are signed with, so that a copy of the database signs nothing. */
export interface SecretCipher {
  encrypt(owner: SecretOwner, text: string): string;
  /**
   * @throws SecretsFileMismatch when the key is not in our secrets file; DamagedSecret when the encrypted text is damaged
   */
  decrypt(owner: SecretOwner, encrypted: string): string;
  /** Whether the key that encrypted a text is in our secrets file. */
  canDecrypt(encrypted: string): boolean;
  /** Identifies the key that encrypts, and reveals nothing of it. */
  readonly fingerprint: string;
  /** Whether a key is in our secrets file. */
  hasKey(fingerprint: string): boolean;
}

/** A secret was encrypted with a key that is not in this process's secrets file. */
export class SecretsFileMismatch extends Error {
  override readonly name = "SecretsFileMismatch";
  /** The name of this error's condition in the log; see health/conditions/conditions.ts. */
  readonly condition = "secrets_file_mismatch";
}

/** An encrypted secret cannot be decrypted, though its key is in our secrets file. */
export class DamagedSecret extends Error {
  override readonly name = "DamagedSecret";
  /** The name of this error's condition in the log; see health/conditions/conditions.ts. */
  readonly condition = "damaged_webhook_secret";
}

/** Random bytes of a secret: as many as HMAC-SHA256 can make use of. */
const SECRET_BYTES = 32;
/** Begins every encrypted text, so that a later version can have another form. */
const VERSION = "1";

/**
 * Creates a secret.
 * @param randomBytes returns so many cryptographically random bytes
 * @param alphabet `base64` is the form that libraries for Standard Webhooks read
 */
export function createSecret(
  randomBytes: (bytes: number) => Uint8Array,
  alphabet: "base64url" | "base64" = "base64url",
): string {
  return `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString(alphabet)}`;
}

interface PreparedKey {
  /** Begins every text that this key encrypted. */
  readonly fingerprint: string;
  readonly cipher: TextCipher;
}

/**
 * Creates a cipher for webhook secrets. An encrypted text is `1.<key id>.<hash of the key>.<encrypted bytes>`. The first
 * three parts are the key's fingerprint: its hash distinguishes keys that have the same id in two secrets files.
 */
export function createSecretCipher(source: KeySource<SecretKey>): SecretCipher {
  const prepared = prepareKeys(source, (keys) => {
    const [current, ...others] = keys.map(prepareKey);
    if (current === undefined) throw new Error("at least one webhook key is needed");
    return { current, byFingerprint: new Map([current, ...others].map((key) => [key.fingerprint, key])) };
  });
  const keyOf = (encrypted: string) => prepared().byFingerprint.get(fingerprintOf(encrypted));
  return {
    encrypt(owner, text) {
      const { fingerprint, cipher } = prepared().current;
      return `${fingerprint}.${cipher.encrypt(ownerText(owner), text).toString("base64url")}`;
    },
    decrypt(owner, encrypted) {
      const key = keyOf(encrypted);
      if (key === undefined) throw new SecretsFileMismatch(describeMismatch([owner.endpointId]));
      const bytes = Buffer.from(encrypted.slice(key.fingerprint.length + 1), "base64url");
      const text = key.cipher.decrypt(ownerText(owner), bytes);
      if (text === undefined) throw damaged(owner);
      return text;
    },
    canDecrypt: (encrypted) => keyOf(encrypted) !== undefined,
    get fingerprint() {
      return prepared().current.fingerprint;
    },
    hasKey: (fingerprint) => prepared().byFingerprint.has(fingerprint),
  };
}

/** Returns the message about endpoints whose secrets cannot be decrypted. */
export function describeMismatch(endpointIds: readonly string[]): string {
  const named = endpointIds.slice(0, 3).join(", ");
  const more = endpointIds.length > 3 ? ` and ${endpointIds.length - 3} more` : "";
  return (
    `The secret of ${named}${more} was encrypted with a key that this SECRETS_FILE does not have. ` +
    "Set SECRETS_FILE to the file that the other processes of the deployment use (by default secrets.json in DATA_DIR)."
  );
}

function prepareKey({ id, key }: SecretKey): PreparedKey {
  const digest = hash("sha256", Buffer.concat([Buffer.from("webhook key fingerprint"), key]), "buffer");
  return {
    fingerprint: `${VERSION}.${id}.${digest.subarray(0, 9).toString("base64url")}`,
    cipher: createTextCipher(key, "webhook secret"),
  };
}

function damaged({ endpointId, secretId }: SecretOwner): DamagedSecret {
  return new DamagedSecret(
    `Secret ${secretId} of ${endpointId} is damaged, or was moved here from another row. Nothing is sent to this endpoint. ` +
      "`webhooks rotate --overlap 0h` gives it a new secret.",
  );
}

function fingerprintOf(encrypted: string): string {
  return encrypted.slice(0, Math.max(0, encrypted.lastIndexOf(".")));
}

/** Returns a row's identity as a text. It contains the length of each part, so that no two rows have the same text. */
function ownerText({ systemId, endpointId, secretId }: SecretOwner): string {
  return [systemId, endpointId, secretId].map((part) => `${part.length}:${part}`).join("");
}
