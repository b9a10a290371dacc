import { createTextCipher } from "../encryption.ts";

/** A key that encrypts cursors. The first of several encrypts; all decrypt, so that keys can be replaced. */
export interface CursorKey {
  /** One byte, the first of every cursor made with this key. */
  readonly id: number;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/**
 * Encrypts positions in lists, so that nobody can read, build or change one. The same position gives the same cursor, so
 * an unchanged page keeps its ETag.
 */
export interface CursorCipher {
  /** @param list the list and its filters: the cursor is valid for the same alone */
  encrypt(list: string, position: string): string;
  /** The position; undefined when the cursor is damaged, not ours, or was made for another list. */
  decrypt(list: string, cursor: string): string | undefined;
}

export function createCursorCipher(keys: readonly CursorKey[]): CursorCipher {
  const ciphers = new Map(keys.map(({ id, key }) => [id, createTextCipher(key, "cursor")]));
  const [current] = keys;
  const encrypting = current && ciphers.get(current.id);
  if (current === undefined || encrypting === undefined) throw new Error("at least one cursor key is needed");
  const prefix = Uint8Array.of(current.id);
  return {
    encrypt: (list, position) => Buffer.concat([prefix, encrypting.encrypt(list, position)]).toString("base64url"),
    decrypt(list, cursor) {
      const bytes = decode(cursor);
      return bytes && ciphers.get(bytes[0] ?? -1)?.decrypt(list, bytes.subarray(1));
    },
  };
}

/** The bytes of a cursor; undefined when the text is not exactly the encoding of these bytes. */
function decode(cursor: string): Buffer | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor) || cursor.length > 2048) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  return bytes.toString("base64url") === cursor ? bytes : undefined;
}
