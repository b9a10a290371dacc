import { createCipheriv, createDecipheriv, createSecretKey, hash } from "node:crypto";

/** A secret that seals cursors. The first of several seals; all open, so that they can be changed. */
export interface CursorKey {
  /** One byte, written in front of what it sealed. */
  readonly id: number;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/** Seals positions in lists so that nobody can read, build or change one. */
export interface CursorCipher {
  /** @param list the list and its filters: the cursor opens for the same alone */
  encrypt(list: string, position: string): string;
  /** The position; undefined when the cursor is damaged, not ours, or sealed for another list. */
  decrypt(list: string, cursor: string): string | undefined;
}

const NONCE = 12;
const TAG = 16;
const ALGORITHM = "aes-256-gcm";

/**
 * AES-256-GCM. The nonce is a keyed hash of what is sealed: the same position gives the same cursor, so that an
 * unchanged page keeps its ETag, and two different ones never share a nonce.
 */
export function createCursorCipher(keys: readonly CursorKey[]): CursorCipher {
  const [current] = keys;
  if (current === undefined) throw new Error("at least one cursor key is needed");
  const nonceKey = hash("sha256", Buffer.concat([Buffer.from("nonce"), current.key]));
  // As key objects: OpenSSL prepares raw bytes anew for each cursor, at four times the cost.
  const byId = new Map(keys.map(({ id, key }) => [id, createSecretKey(key)]));
  const sealingKey = createSecretKey(current.key);
  return {
    encrypt(list, position) {
      // With the list's length, so that no two pairs of list and position make one text.
      const nonce = hash("sha256", `${nonceKey}${list.length} ${list}${position}`, "buffer").subarray(0, NONCE);
      const cipher = createCipheriv(ALGORITHM, sealingKey, nonce);
      cipher.setAAD(Buffer.from(list));
      const sealed = cipher.update(position, "utf8");
      cipher.final();
      return Buffer.concat([Uint8Array.of(current.id), nonce, sealed, cipher.getAuthTag()]).toString("base64url");
    },
    decrypt(list, cursor) {
      const bytes = decode(cursor);
      const key = bytes && byId.get(bytes[0] ?? -1);
      if (!bytes || !key || bytes.length < 1 + NONCE + TAG) return undefined;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(1, 1 + NONCE), { authTagLength: TAG });
      decipher.setAAD(Buffer.from(list));
      decipher.setAuthTag(bytes.subarray(-TAG));
      try {
        return decipher.update(bytes.subarray(1 + NONCE, -TAG), undefined, "utf8") + decipher.final("utf8");
      } catch {
        return undefined;
      }
    },
  };
}

/** The bytes of a cursor; undefined when it is not exactly what encoding those bytes gives. */
function decode(cursor: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor) || cursor.length > 2048) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  return bytes.toString("base64url") === cursor ? bytes : undefined;
}
