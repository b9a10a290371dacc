// Checks the size of JSON before it is parsed, because `JSON.parse` has no limits.

/**
 * Maximum bytes of a decompressed document. Too low: rejects the largest known feeds, which have 15 MB. Too high: parsing
 * takes several times as much memory.
 */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
/**
 * Maximum JSON values in a document. 26,000 vehicles of 20 fields are half a million values. Too high: a document of
 * small objects takes thirty times its size in memory.
 */
const MAX_VALUES = 1_000_000;
/** Maximum nesting of objects and arrays. Feeds have six levels, and geofences ten. */
const MAX_DEPTH = 64;

/** Returns the error for a document that is too large. */
export function tooLarge(maxBytes = MAX_DOCUMENT_BYTES): Error {
  const mebibyte = 1024 * 1024;
  const size = maxBytes >= mebibyte ? `${maxBytes / mebibyte} MiB` : `${maxBytes} bytes`;
  return new Error(`it is larger than ${size}`);
}

/** Returns the error for a feed that has too many records. */
export function tooManyRecords(most: number): Error {
  return new Error(`it has more than ${most.toLocaleString("en")} records`);
}

/** The nesting level of a record in a document: document, `data`, list, record. */
const RECORD_DEPTH = 4;

/**
 * Parses JSON within limits.
 * @param maxRecords most records of the feed, counted before parsing because that is cheaper
 * @throws Error when the bytes are not JSON, or exceed a limit
 */
export function parseBounded(bytes: Uint8Array, maxRecords = MAX_VALUES): unknown {
  if (bytes.byteLength > MAX_DOCUMENT_BYTES) throw tooLarge();
  checkExtent(bytes, maxRecords);
  try {
    // Drops a byte order mark, which JSON.parse would refuse.
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new Error("it is not JSON", { cause: error });
  }
}

const [QUOTE, COMMA, BACKSLASH] = Buffer.from(`",\\`);
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = Buffer.from("[]{}");

/**
 * Counts values, depth and records. Counts a value for each comma and each opening bracket. Does not check whether the
 * bytes are valid JSON, because `JSON.parse` does.
 */
function checkExtent(bytes: Uint8Array, maxRecords: number): void {
  let values = 0;
  let records = 0;
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (isInString) {
      if (byte === BACKSLASH) index++;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === COMMA) values++;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values++;
      if (++depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`);
      if (depth === RECORD_DEPTH && byte === OPEN_OBJECT && ++records > maxRecords) throw tooManyRecords(maxRecords);
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--;
    if (values > MAX_VALUES) throw new Error(`it has more than ${MAX_VALUES.toLocaleString("en")} values`);
  }
}
