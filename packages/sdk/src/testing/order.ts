/** Where an item stands in its list: what it is ordered by, and its id, which breaks ties. */
export type Key = readonly [value: string, id: string];

/** Compares keys as the service's database does: by code points, which is the order of UTF-8 bytes. */
export function compareKeys([a, idA]: Key, [b, idB]: Key): number {
  return compareTexts(a, b) || compareTexts(idA, idB);
}

/** Compares texts by code points. JavaScript's own order puts characters beyond U+FFFF before some within. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  const left = a[Symbol.iterator]();
  const right = b[Symbol.iterator]();
  for (;;) {
    const one = left.next();
    const other = right.next();
    if (one.done === true || other.done === true) return one.done === true ? -1 : 1;
    const difference = (one.value.codePointAt(0) ?? 0) - (other.value.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
}
