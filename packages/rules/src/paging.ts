/** Pages of `limit` items that `total` items fill. An empty list has one page, so that "page equals total_pages" ends it. */
export function countPages(total: number, limit: number): number {
  return Math.max(1, Math.ceil(total / limit));
}

/**
 * Compares ids as the database does, by their bytes in UTF-8, which is by code points. JavaScript's own order puts
 * characters beyond U+FFFF before some within.
 */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [one, other] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (one !== other) return codePointRank(one) - codePointRank(other);
  }
  return a.length - b.length;
}

/** A UTF-16 code unit's place in the order of code points: surrogates stand for characters behind all others. */
function codePointRank(unit: number): number {
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
  return isSurrogate ? unit + 0x10000 : unit;
}
