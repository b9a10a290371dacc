import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";

/** A key that seals the secrets of webhooks. The first of several seals; all open, so that they can be changed. */
export interface SecretKey {
  readonly id: number;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/** Where a secret belongs. It opens nowhere else: a sealed text that is moved to another row is worth nothing. */
interface SecretPlace {
  readonly systemId: string;
  readonly endpointId: string;
  readonly secretId: string;
}

/** Seals the secrets that deliveries are signed with, so that a copy of the database signs nothing. */
export interface SecretSealer {
  seal(place: SecretPlace, text: string): string;
  /** @throws SecretsFileMismatch when the key is not in our secrets file; DamagedSecret when the sealed text is damaged */
  open(place: SecretPlace, sealed: string): string;
  /** Whether the key that sealed a text is ours. */
  knows(sealed: string): boolean;
  /** Names the key that seals, and tells nothing of it. */
  readonly mark: string;
  /** Whether a key is ours. @param mark its name */
  knowsKey(mark: string): boolean;
}

/** A secret was sealed with a key that is not in this process's secrets file. */
export class SecretsFileMismatch extends Error {
  override readonly name = "SecretsFileMismatch";
  /** The log's name for it; see conditions/failure.ts. */
  readonly condition = "secrets_file_mismatch";
}

/** A sealed secret cannot be opened, though its key is ours. */
export class DamagedSecret extends Error {
  override readonly name = "DamagedSecret";
  /** The log's name for it; see conditions/failure.ts. */
  readonly condition = "damaged_webhook_secret";
}

/** Random bytes of a secret: as many as HMAC-SHA256 can make use of. */
const SECRET_BYTES = 32;
const NONCE = 12;
const TAG = 16;
const ALGORITHM = "aes-256-gcm";
const VERSION = "1";

/**
 * Makes a secret.
 * @param randomBytes gives the asked number of bytes, fit for secrets
 * @param alphabet `base64` is the form that libraries for Standard Webhooks read
 */
export function makeSecret(
  randomBytes: (bytes: number) => Uint8Array,
  alphabet: "base64url" | "base64" = "base64url",
): string {
  return `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString(alphabet)}`;
}

interface OpenKey {
  /** Begins every text that this key sealed. */
  readonly mark: string;
  readonly key: KeyObject;
  readonly nonceKey: KeyObject;
}

/**
 * AES-256-GCM. A sealed text is `1.<key id>.<fingerprint>.<nonce, ciphertext, tag>`. The fingerprint tells keys of the
 * same id in two secrets files apart. The nonce is a keyed hash of what is sealed and where: two different texts never
 * share one.
 */
export function createSecretSealer(keys: readonly SecretKey[]): SecretSealer {
  const opened = keys.map(openKey);
  const [current] = opened;
  if (current === undefined) throw new Error("at least one webhook key is needed");
  const byMark = new Map(opened.map((key) => [key.mark, key]));
  const keyOf = (sealed: string) => byMark.get(markOf(sealed));
  return {
    seal(place, text) {
      const data = placeText(place);
      const nonce = createHmac("sha256", current.nonceKey).update(`${data.length} ${data}${text}`).digest();
      const cipher = createCipheriv(ALGORITHM, current.key, nonce.subarray(0, NONCE));
      cipher.setAAD(Buffer.from(data));
      const sealed = [cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
      return `${current.mark}.${Buffer.concat([nonce.subarray(0, NONCE), ...sealed]).toString("base64url")}`;
    },
    open(place, sealed) {
      const key = keyOf(sealed);
      if (key === undefined) throw new SecretsFileMismatch(describeMismatch([place.endpointId]));
      return decrypt(key, place, sealed);
    },
    knows: (sealed) => keyOf(sealed) !== undefined,
    mark: current.mark,
    knowsKey: (mark) => byMark.has(mark),
  };
}

/** What to tell about endpoints whose secrets we cannot open. */
export function describeMismatch(endpointIds: readonly string[]): string {
  const named = endpointIds.slice(0, 3).join(", ");
  const more = endpointIds.length > 3 ? ` and ${endpointIds.length - 3} more` : "";
  return (
    `The secret of ${named}${more} was sealed with a key that this SECRETS_FILE does not have. ` +
    "Set SECRETS_FILE to the file that the other processes of the deployment use (by default secrets.json in DATA_DIR)."
  );
}

function openKey({ id, key }: SecretKey): OpenKey {
  const fingerprint = hash("sha256", Buffer.concat([Buffer.from("webhook key fingerprint"), key]), "buffer");
  return {
    mark: `${VERSION}.${id}.${fingerprint.subarray(0, 9).toString("base64url")}`,
    key: createSecretKey(key),
    nonceKey: createSecretKey(hash("sha256", Buffer.concat([Buffer.from("webhook nonce"), key]), "buffer")),
  };
}

function decrypt({ key, mark }: OpenKey, place: SecretPlace, sealed: string): string {
  const bytes = Buffer.from(sealed.slice(mark.length + 1), "base64url");
  if (bytes.length < NONCE + TAG) throw damaged(place);
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE), { authTagLength: TAG });
  decipher.setAAD(Buffer.from(placeText(place)));
  decipher.setAuthTag(bytes.subarray(-TAG));
  try {
    return decipher.update(bytes.subarray(NONCE, -TAG), undefined, "utf8") + decipher.final("utf8");
  } catch (error) {
    throw damaged(place, error);
  }
}

function damaged({ endpointId, secretId }: SecretPlace, cause?: unknown): DamagedSecret {
  return new DamagedSecret(
    `Secret ${secretId} of ${endpointId} is damaged, or was moved here from another row. Nothing is sent to this endpoint. ` +
      "`webhooks rotate --overlap 0h` gives it a new secret.",
    { cause },
  );
}

function markOf(sealed: string): string {
  return sealed.slice(0, Math.max(0, sealed.lastIndexOf(".")));
}

/** With the lengths, so that no two places make one text. */
function placeText({ systemId, endpointId, secretId }: SecretPlace): string {
  return [systemId, endpointId, secretId].map((part) => `${part.length}:${part}`).join("");
}
