import type { Key } from "./order.ts";

/**
 * A place in a list, made unreadable: programs must not get used to building or decoding cursors. It keeps no secret, so
 * whoever tries can forge one; whoever damages one, or takes it to another list, is found out.
 *
 * @param list the list and its filters
 */
export function sealCursor(list: string, place: Key): string {
  const text = JSON.stringify(place);
  const check = hash(`${list}\n${text}`);
  const bytes = mask(check, new TextEncoder().encode(text));
  return toBase64Url([...bytesOf(check), ...bytes]);
}

/** The place that a cursor of this very list holds; undefined for any other text. */
export function openCursor(list: string, cursor: string): Key | undefined {
  const bytes = fromBase64Url(cursor);
  if (bytes === undefined || bytes.length <= CHECK_BYTES) return undefined;
  const check = bytes.slice(0, CHECK_BYTES).reduce((sum, byte) => sum * 256 + byte, 0);
  const text = new TextDecoder().decode(Uint8Array.from(mask(check, bytes.slice(CHECK_BYTES))));
  // What was sealed here and fits its check is a place.
  return hash(`${list}\n${text}`) === check ? (JSON.parse(text) as Key) : undefined;
}

/** Weak: for what need not withstand an attacker. 32 bits (FNV-1a, with a last stirring). */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

const CHECK_BYTES = 4;

function bytesOf(check: number): number[] {
  return [24, 16, 8, 0].map((shift) => (check >>> shift) & 255);
}

/** Mixes bytes with those that follow from a check; a second time gives them back. */
function mask(check: number, bytes: Iterable<number>): number[] {
  let state = check;
  return Array.from(bytes, (byte) => {
    state = (Math.imul(state, 0x19660d) + 0x3c6ef35f) >>> 0;
    return byte ^ (state >>> 24);
  });
}

function toBase64Url(bytes: readonly number[]): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** The bytes of a text; undefined when it is not exactly what encoding them gives. */
function fromBase64Url(text: string): number[] | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  return toBase64Url(bytes) === text ? bytes : undefined;
}
