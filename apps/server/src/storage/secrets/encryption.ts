import { createCipheriv, createDecipheriv, createSecretKey, hash } from "node:crypto";

/*
 * Encrypts what this service gives out or stores and must not be readable: cursors, download links and other tokens
 * (`createTokenCipher`), and stored secrets such as those of webhooks (`createTextCipher`).
 */

const ALGORITHM = "aes-256-gcm";
/** An encrypted text begins with its nonce and ends with the tag that proves that nobody has changed it. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts texts with one key: without it a text cannot be read, forged or changed. */
export interface TextCipher {
  /** @param context authenticated with the text: it is decrypted only with the same context */
  encrypt(context: string, text: string): Buffer;
  /** The text; undefined when the bytes are damaged, or were encrypted with another key or in another context. */
  decrypt(context: string, bytes: Uint8Array): string | undefined;
}

/**
 * AES-256-GCM. The nonce is a keyed hash of the context and the text: the same text gives the same bytes in one context, and
 * two different ones share a nonce only with a negligible probability.
 * @param key 32 random bytes
 * @param purpose keeps the nonces of two uses of one key apart; it does not keep their texts apart, which contexts must do
 */
export function createTextCipher(key: Uint8Array, purpose: string): TextCipher {
  const nonceKey = hash("sha256", Buffer.concat([Buffer.from(`${purpose} nonce`), key]));
  // A key object is prepared once. With raw bytes, OpenSSL would prepare the key for each text, at four times the cost.
  const keyObject = createSecretKey(key);
  return {
    encrypt(context, text) {
      // Includes the context's length, so that no two pairs of context and text give the same input of the hash.
      const hashed = hash("sha256", `${nonceKey}${context.length} ${context}${text}`, "buffer");
      const nonce = hashed.subarray(0, NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, keyObject, nonce);
      cipher.setAAD(Buffer.from(context));
      const encrypted = cipher.update(text, "utf8");
      // Returns no bytes in this mode, and completes the tag.
      cipher.final();
      return Buffer.concat([nonce, encrypted, cipher.getAuthTag()]);
    },
    decrypt(context, bytes) {
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(ALGORITHM, keyObject, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const decrypted = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        decipher.final();
        return decrypted.toString();
      } catch {
        return undefined;
      }
    },
  };
}

/** A key of the secrets file. The first of several encrypts; all decrypt, so that keys can be replaced. */
export interface NumberedKey {
  /** One byte, the first of every token that this key encrypted. */
  readonly id: number;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/** Fixed keys, or a function that returns the current keys, because the secrets file may change while a process runs. */
export type KeySource<Key> = readonly Key[] | (() => readonly Key[]);

/** Prepares keys at once, and again when the source returns other keys. @returns a function that gives the prepared keys */
export function prepareKeys<Key, Prepared>(
  source: KeySource<Key>,
  prepare: (keys: readonly Key[]) => Prepared,
): () => Prepared {
  const keysNow = typeof source === "function" ? source : () => source;
  let keys = keysNow();
  let prepared = prepare(keys);
  return () => {
    const now = keysNow();
    if (now !== keys) {
      prepared = prepare(now);
      keys = now;
    }
    return prepared;
  };
}

/** Encrypts texts into tokens that can be part of a URL. */
export interface TokenCipher {
  /** @param context authenticated with the text: it is decrypted only with the same context */
  encrypt(context: string, text: string): string;
  /** The text; undefined when the token is damaged, not ours, or was made in another context. */
  decrypt(context: string, token: string): string | undefined;
  /** Whether a token of ours was encrypted with the key that encrypts now. */
  isCurrent(token: string): boolean;
}

/** @param purpose keeps the tokens of two uses of the same keys apart */
export function createTokenCipher(source: KeySource<NumberedKey>, purpose: string): TokenCipher {
  const prepared = prepareKeys(source, (keys) => {
    const ciphers = new Map(keys.map(({ id, key }) => [id, createTextCipher(key, purpose)]));
    const [current] = keys;
    const encrypting = current && ciphers.get(current.id);
    if (current === undefined || encrypting === undefined)
      throw new Error(`at least one key is needed for: ${purpose}`);
    return { ciphers, encrypting, currentId: current.id };
  });
  return {
    encrypt(context, text) {
      const { encrypting, currentId } = prepared();
      return Buffer.concat([Uint8Array.of(currentId), encrypting.encrypt(context, text)]).toString("base64url");
    },
    decrypt(context, token) {
      const bytes = decode(token);
      const keyId = bytes?.[0];
      if (bytes === undefined || keyId === undefined) return undefined;
      return prepared().ciphers.get(keyId)?.decrypt(context, bytes.subarray(1));
    },
    isCurrent: (token) => decode(token)?.[0] === prepared().currentId,
  };
}

/** Maximum characters of a token. The token of a text of 4,000 characters has 5,400. */
const MAX_TOKEN_LENGTH = 8_192;

/** Returns the bytes of a token; undefined when the text is not exactly the encoding of these bytes. */
function decode(token: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(token) || token.length > MAX_TOKEN_LENGTH) return undefined;
  const bytes = Buffer.from(token, "base64url");
  return bytes.toString("base64url") === token ? bytes : undefined;
}
