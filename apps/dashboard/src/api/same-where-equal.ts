/**
 * Returns the new value with every part that equals the old one replaced by that: what has not changed is the same object,
 * so nothing is drawn again for its sake. Values are those of JSON.
 */
export function sameWhereEqual(before: unknown, after: unknown): unknown {
  if (before === after || !isContainer(before) || !isContainer(after)) return after;
  if (Array.isArray(before) !== Array.isArray(after)) return after;
  const names = Object.keys(after);
  const shared = names.map((name) => sameWhereEqual(before[name], after[name]));
  const isSame =
    names.length === Object.keys(before).length &&
    names.every((name, at) => name in before && shared[at] === before[name]);
  if (isSame) return before;
  return Array.isArray(after) ? shared : Object.fromEntries(names.map((name, at) => [name, shared[at]]));
}

/** Arrays too: their indexes are their names. */
function isContainer(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" &&
    value !== null &&
    (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype)
  );
}
