/**
 * Bytes of a document, unpacked. The largest known feeds have 15 MB; lower refuses them, higher multiplies with what
 * parsing makes of each byte.
 */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
/**
 * JSON values in a document. 26,000 vehicles of 20 fields are half a million; higher lets a document of small objects
 * take thirty times its size in memory.
 */
const MAX_VALUES = 1_000_000;
/** Levels of objects and lists. Feeds have six; a geofence has ten. */
const MAX_DEPTH = 64;

/** A document is larger than is read. */
export function tooLarge(maxBytes = MAX_DOCUMENT_BYTES): Error {
  const mebibyte = 1024 * 1024;
  const size = maxBytes >= mebibyte ? `${maxBytes / mebibyte} MiB` : `${maxBytes} bytes`;
  return new Error(`it is larger than ${size}`);
}

/**
 * Parses JSON whose cost is known before it is parsed: the parser itself knows no bounds.
 * @throws Error when the bytes are no JSON, or too much of it
 */
export function parseBounded(bytes: Uint8Array): unknown {
  if (bytes.byteLength > MAX_DOCUMENT_BYTES) throw tooLarge();
  checkExtent(bytes);
  try {
    // Drops a byte order mark, which JSON.parse would refuse.
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new Error("it is not JSON", { cause: error });
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPENING = [0x5b, 0x7b] as const;
const CLOSING = [0x5d, 0x7d] as const;

/** Counts what makes a value and a level; whether it is JSON at all is for the parser to say. */
function checkExtent(bytes: Uint8Array): void {
  let values = 0;
  let depth = 0;
  let isText = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isText) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) isText = true;
    else if (byte === COMMA) values++;
    else if (byte === OPENING[0] || byte === OPENING[1]) {
      values++;
      if (++depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`);
    } else if (byte === CLOSING[0] || byte === CLOSING[1]) depth--;
    if (values > MAX_VALUES) throw new Error(`it has more than ${MAX_VALUES.toLocaleString("en")} values`);
  }
}
