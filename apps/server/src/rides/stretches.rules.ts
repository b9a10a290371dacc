import type { Tables } from "../db/tables.generated.ts";

type Status = Tables["rides"]["status"];

export const DAY_MS = 86_400_000;

/** Rides that started on a day, have a status, and were last changed at about the same time. */
export interface RideGroup {
  readonly status: Status;
  /** Milliseconds since 1970: when the first and the last of them was last changed. */
  readonly first: number;
  readonly last: number;
  readonly n: number;
}

/** The rides that started on a past day (UTC). */
export interface RideDay {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Undefined: a ride of the day is under way, so that what is known does not last. */
  readonly groups: readonly RideGroup[] | undefined;
}

/** A part of the list of rides, by when they started: milliseconds since 1970, with no end where infinite. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** How many rides in it pass the filters; undefined: they are to be counted. */
  readonly n: number | undefined;
}

/** Filters by what is known of a ride's day. */
export interface DayFilters {
  /** The ride started at this instant or later, … */
  readonly from: number;
  /** … before this one, … */
  readonly to: number;
  /** … and was changed at this one or later. */
  readonly since: number | undefined;
  readonly status: string | undefined;
}

/** The milliseconds since 1970 of an RFC 3339 instant; of one between two milliseconds, the later: no ride lies between. */
export function millisecondsOf(instant: string): number {
  const isBetween = /\.\d{3}\d*[1-9]/.test(instant);
  return Date.parse(instant) + Number(isBetween);
}

/** How many rides of a day pass filters; undefined: that is not known without looking at each. */
export function countOfDay(day: RideDay, { since, status }: DayFilters): number | undefined {
  if (day.groups === undefined) return undefined;
  let sum = 0;
  for (const group of day.groups) {
    if (status !== undefined && group.status !== status) continue;
    if (since === undefined || group.first >= since) sum += group.n;
    else if (group.last >= since) return undefined;
  }
  return sum;
}

/**
 * The parts of the list in which rides pass filters, the youngest first.
 * @param parts past parts, the youngest first, each with its number; undefined: to be counted
 * @param upto where the past begins: younger rides are counted
 */
export function stretchesOf(
  parts: Iterable<Stretch>,
  upto: number,
  { from, to }: Pick<DayFilters, "from" | "to">,
): Stretch[] {
  const stretches: { from: number; readonly to: number; readonly n: number | undefined }[] = [];
  const add = (part: Stretch) => {
    const clipped = { from: Math.max(part.from, from), to: Math.min(part.to, to) };
    if (clipped.from >= clipped.to || part.n === 0) return;
    const isCut = clipped.from > part.from || clipped.to < part.to;
    const n = isCut ? undefined : part.n;
    const last = stretches.at(-1);
    // Neighbours that are counted are counted together.
    if (n === undefined && last !== undefined && last.n === undefined && last.from === clipped.to)
      last.from = clipped.from;
    else stretches.push({ ...clipped, n });
  };
  add({ from: upto, to: Infinity, n: undefined });
  for (const part of parts) add(part);
  return stretches;
}

/** Where the rides of a page are found. */
export interface PageSpan {
  /** All of them started from this instant on and before that one. */
  readonly from: number;
  readonly to: number;
  /** So many rides to skip from there: from the beginning of the list's order, or from its end. */
  readonly skip: number;
  readonly fromEnd: boolean;
  readonly limit: number;
}

/** Finds a page of `limit` rides behind `skip`, from the nearer end of the stretches that hold it. */
export function spanOf(
  stretches: readonly { readonly from: number; readonly to: number; readonly n: number }[],
  skip: number,
  limit: number,
): PageSpan | undefined {
  let passed = 0;
  let first: { readonly to: number; readonly skip: number } | undefined;
  for (const { from, to, n } of stretches) {
    if (first === undefined && skip < passed + n) first = { to, skip: skip - passed };
    passed += n;
    if (first === undefined || passed < skip + limit) continue;
    const after = passed - skip - limit;
    const isNearEnd = after < first.skip;
    return { from, to: first.to, skip: isNearEnd ? after : first.skip, fromEnd: isNearEnd, limit };
  }
  // The last page has fewer.
  return first === undefined || passed <= skip ? undefined : spanOf(stretches, skip, passed - skip);
}

/**
 * Which rides of a part of the past were changed at an instant or later: all of them, none, or some (or that is not known).
 * @param days the past days, the youngest first
 */
export function changedIn(
  part: Pick<Stretch, "from" | "to">,
  { days, upto }: { readonly days: readonly RideDay[]; readonly upto: number },
  { since, status }: Pick<DayFilters, "since" | "status">,
): "all" | "none" | "some" {
  if (since === undefined) return "all";
  if (part.to > upto) return "some";
  let [all, none] = [true, true];
  for (const { from, groups } of days) {
    if (from >= part.to || from + DAY_MS <= part.from) continue;
    if (groups === undefined) return "some";
    for (const group of groups) {
      if (status !== undefined && group.status !== status) continue;
      if (group.first < since) all = false;
      if (group.last >= since) none = false;
    }
    if (!all && !none) return "some";
  }
  return none ? "none" : "all";
}

/** As `stretches`, with few that are to be counted: where there are more, one stands for all from the first to the last. */
export function withFewUncounted(stretches: readonly Stretch[], most: number): readonly Stretch[] {
  const uncounted = stretches.flatMap(({ n }, index) => (n === undefined ? [index] : []));
  const [first = 0, last = 0] = [uncounted[0], uncounted.at(-1)];
  const [youngest, oldest] = [stretches[first], stretches[last]];
  if (uncounted.length <= most || youngest === undefined || oldest === undefined) return stretches;
  const one = { from: oldest.from, to: youngest.to, n: undefined };
  return [...stretches.slice(0, first), one, ...stretches.slice(last + 1)];
}

/**
 * Between which starts the `limit` rides lie that follow an instant in the list: nothing outside is looked at.
 * @param stretches undefined numbers count for none
 */
export function behind(
  stretches: readonly Stretch[],
  at: number,
  limit: number,
): { readonly from: number; readonly to: number } {
  let to: number | undefined;
  let from = at;
  let sure = 0;
  for (const stretch of stretches) {
    // A cursor's own stretch may hold any number of rides behind it.
    if (stretch.from > at) continue;
    to ??= stretch.to;
    from = stretch.from;
    if (stretch.to <= at) sure += stretch.n ?? 0;
    if (sure >= limit) break;
  }
  return { from, to: to ?? at };
}
