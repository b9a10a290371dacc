import { hash } from "node:crypto";
import type { PositionCodec } from "../storage/lists/page.ts";
import { type KeySource, prepareKeys } from "../storage/secrets/encryption.ts";

/** A key that encrypts cursors. The first of several encrypts; all decrypt, so that keys can be replaced. */
export interface CursorKey {
  /** One byte, the first of every cursor made with this key. */
  readonly id: number;
  /** 32 random bytes. */
  readonly key: Uint8Array;
}

/**
 * Encrypts positions in lists, so that a caller cannot read, build or change one. Equal positions give equal cursors, so
 * that an unchanged page keeps its ETag.
 */
export interface CursorCipher {
  /** @param list the list and its filters: the cursor is valid only for these */
  encrypt(list: string, position: string): string;
  /** The position; undefined when the cursor is damaged, not ours, or was made for another list. */
  decrypt(list: string, cursor: string): string | undefined;
}

/** Maximum characters of a cursor. Ours are shorter, because they are made from identifiers. */
const MAX_CURSOR_LENGTH = 2048;
const TAG_BYTES = 16;
/** The length of a SHA-256 digest. */
const STREAM_BLOCK_BYTES = 32;
/** The bytes before the position: the id of the key, and the tag. */
const HEAD_BYTES = 1 + TAG_BYTES;

/**
 * Creates a cipher for cursors. A cursor is the id of its key, a tag, and the position XORed with a stream of bytes, as in
 * RFC 5297 (SIV). The tag is a keyed hash of list and position, and the stream is derived from the tag. So equal positions
 * give equal cursors, different positions use different streams, and a cursor is forged if its decrypted position does not
 * give its tag. Tag and stream are made by SHA-256, which takes half the time of AES-GCM for a short position.
 */
export function createCursorCipher(source: KeySource<CursorKey>): CursorCipher {
  const prepared = prepareKeys(source, (keys) => {
    const subkeys = new Map(keys.map(({ id, key }) => [id, deriveSubkeys(key)]));
    const [current] = keys;
    const encrypting = current && subkeys.get(current.id);
    if (current === undefined || encrypting === undefined) throw new Error("at least one cursor key is needed");
    return { subkeys, encrypting, currentId: current.id };
  });
  return {
    encrypt(list, position) {
      const { encrypting, currentId } = prepared();
      const tag = tagOf(encrypting, list, position);
      const bytes = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(position));
      bytes[0] = currentId;
      bytes.write(tag, 1, "latin1");
      bytes.write(position, HEAD_BYTES);
      applyStream(encrypting, tag, bytes);
      return bytes.toString("base64url");
    },
    decrypt(list, cursor) {
      const bytes = decode(cursor);
      // An empty cursor has no first byte. No key has the id -1.
      const key = bytes && prepared().subkeys.get(bytes[0] ?? -1);
      if (bytes === undefined || key === undefined || bytes.length < HEAD_BYTES) return undefined;
      const tag = bytes.toString("latin1", 1, HEAD_BYTES);
      applyStream(key, tag, bytes);
      const position = bytes.toString("utf8", HEAD_BYTES);
      return isSame(tagOf(key, list, position), tag) ? position : undefined;
    },
  };
}

/** Keys derived from a cursor key: texts of 64 characters, so that each fills one block of the hash. */
interface Subkeys {
  readonly inner: string;
  readonly outer: string;
  readonly stream: string;
}

function deriveSubkeys(key: Uint8Array): Subkeys {
  const derive = (use: string) => hash("sha256", Buffer.concat([Buffer.from(`cursor ${use}`), key]));
  return { inner: derive("inner"), outer: derive("outer"), stream: derive("stream") };
}

/**
 * Returns the tag, one character for each byte. Hashes twice, as HMAC does, and includes the list's length, so that no two
 * pairs of list and position give the same input.
 */
function tagOf({ inner, outer }: Subkeys, list: string, position: string): string {
  const hashed = hash("sha256", `${inner}${list.length} ${list}${position}`, "binary");
  return hash("sha256", outer + hashed, "binary").slice(0, TAG_BYTES);
}

/** XORs the bytes of the position with the stream of a tag: encrypts a position, or decrypts an encrypted one. */
function applyStream({ stream }: Subkeys, tag: string, bytes: Buffer): void {
  let block = "";
  for (let index = HEAD_BYTES; index < bytes.length; index++) {
    const within = (index - HEAD_BYTES) % STREAM_BLOCK_BYTES;
    if (within === 0) block = hash("sha256", `${stream}${tag}${index}`, "binary");
    bytes[index] = (bytes[index] ?? 0) ^ block.charCodeAt(within);
  }
}

/** Compares all characters, so that the duration does not reveal where they differ. */
function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index++) difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  return difference === 0;
}

/** Returns a codec from positions to cursors. @param scope names the system, the list and its filters: see `cursorScope` */
export function cursorPosition<Position>(
  cipher: CursorCipher,
  scope: string,
  position: PositionCodec<Position>,
): PositionCodec<Position> {
  return {
    encode: (value) => cipher.encrypt(scope, position.encode(value)),
    decode(text) {
      const decrypted = cipher.decrypt(scope, text);
      return decrypted === undefined ? undefined : position.decode(decrypted);
    },
  };
}

/** Returns the bytes of a cursor; undefined when the text is not exactly the encoding of these bytes. */
function decode(cursor: string): Buffer | undefined {
  if (cursor.length > MAX_CURSOR_LENGTH) return undefined;
  const bytes = Buffer.from(cursor, "base64url");
  return bytes.toString("base64url") === cursor ? bytes : undefined;
}
