/**
 * Warns of variables whose names are one letter away from one of ours: they change nothing, and nobody would notice.
 * Names as short as PORT or MODE are left alone: too many others are near them.
 * @param ours every name that is read
 */
export function nearMisses(env: Readonly<Record<string, string | undefined>>, ours: readonly string[]): string[] {
  const warnings: string[] = [];
  for (const name of Object.keys(env)) {
    if (ours.includes(name) || env[name] === "") continue;
    const meant = ours.find((candidate) => candidate.length >= SHORTEST && isOneEditAway(name, candidate));
    if (meant !== undefined) warnings.push(`${name} is set, and means nothing here. Is ${meant} meant?`);
  }
  return warnings;
}

const SHORTEST = 7;

/** Whether one letter added, left out or changed, or two neighbours swapped, make one name of the other. */
export function isOneEditAway(one: string, other: string): boolean {
  if (one === other || Math.abs(one.length - other.length) > 1) return false;
  let start = 0;
  while (start < one.length && start < other.length && one[start] === other[start]) start++;
  const [restOfOne, restOfOther] = [one.slice(start), other.slice(start)];
  if (restOfOne.length !== restOfOther.length) {
    return restOfOne.slice(1) === restOfOther || restOfOther.slice(1) === restOfOne;
  }
  const isChanged = restOfOne.slice(1) === restOfOther.slice(1);
  const isSwapped =
    restOfOne[0] === restOfOther[1] && restOfOne[1] === restOfOther[0] && restOfOne.slice(2) === restOfOther.slice(2);
  return isChanged || isSwapped;
}
