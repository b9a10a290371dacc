import type { Tables } from "../../storage/db/tables.generated.ts";

type Status = Tables["rides"]["status"];

// Rules for filtered lists of rides, the youngest first (`./filtered-queries.ts`). A process remembers for each past day
// how many rides started in each hour, by status and last change (`RideDay`). `partsOf` and `stretchesOf` cut a list into
// stretches of time, and give each the number of its rides if that follows from the days. The database counts the rides of
// the other stretches. `spanOf` then finds where a numbered page begins and ends, and `byHour` makes its span narrower. For
// a page by cursor, `byHourBehind` and `behind` do this.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Rides of one hour and status. An hour may have several groups of a status, by the time of the last change. */
export interface RideGroup {
  /** The hour of the day, from 0. */
  readonly hour: number;
  readonly status: Status;
  /** The earliest and the latest last change of these rides, milliseconds since 1970. */
  readonly first: number;
  readonly last: number;
  readonly n: number;
}

/** Rides of one status of a whole day. */
interface StatusOfDay {
  readonly status: Status;
  /** As in `RideGroup`. */
  readonly first: number;
  readonly last: number;
  readonly n: number;
}

/** The rides that started on a day (UTC). */
export interface RideDay {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** The end of the known part: the end of the day, or the `upto` of `PastDays` if that is earlier. */
  readonly to: number;
  readonly statuses: readonly StatusOfDay[];
  /** Whether a ride of the day is under way, so that the numbers of its hour may change. */
  readonly isUnderWay: boolean;
  /**
   * The groups, `WIDTH` numbers each: hour, index of the status in `STATUSES`, first, last, n. As objects they would take
   * three times the memory.
   */
  readonly groups: Float64Array;
}

/** The part of the list of rides that started from `from` until before `to`: milliseconds since 1970; infinite: no bound. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** How many rides of the stretch pass the filters; undefined: not known, the database has to count them. */
  readonly n: number | undefined;
}

/** The filters of a list of rides other than the start time. */
interface ChangeFilters {
  /** The ride was changed at this instant or later. */
  readonly since: number | undefined;
  readonly status: string | undefined;
}

const STATUSES: readonly Status[] = ["started", "completed", "cancelled"];
/** The numbers of one group in `RideDay.groups`. */
const WIDTH = 5;
/** Maximum number of remembered groups of an hour. When an hour has more, the groups of each status are merged. */
const MAX_GROUPS_OF_HOUR = 12;

/** Makes a day from its groups. */
export function rideDay(from: number, to: number, given: readonly RideGroup[]): RideDay {
  // With fewer groups in the whole day, no hour has too many.
  const groups = given.length > MAX_GROUPS_OF_HOUR ? withFewGroups(given) : given;
  return {
    from,
    to,
    statuses: merged(groups, ({ status }) => status),
    isUnderWay: groups.some(({ status }) => status === "started"),
    groups: Float64Array.from(
      groups.flatMap(({ hour, status, first, last, n }) => [hour, STATUSES.indexOf(status), first, last, n]),
    ),
  };
}

/** Merges the groups of each hour that has too many, into one group for each status. */
function withFewGroups(groups: readonly RideGroup[]): readonly RideGroup[] {
  const numbers = new Map<number, number>();
  for (const { hour } of groups) numbers.set(hour, (numbers.get(hour) ?? 0) + 1);
  const hasMany = ({ hour }: RideGroup) => (numbers.get(hour) ?? 0) > MAX_GROUPS_OF_HOUR;
  return [
    ...groups.filter((group) => !hasMany(group)),
    ...merged(groups.filter(hasMany), ({ hour, status }) => `${hour} ${status}`),
  ];
}

/** Merges the groups with the same key: adds up their rides, and widens the time of their changes. */
function merged<Group extends StatusOfDay>(groups: readonly Group[], keyOf: (group: Group) => string): Group[] {
  const found = new Map<string, Group>();
  for (const group of groups) {
    const { first, last, n } = found.get(keyOf(group)) ?? { ...group, n: 0 };
    found.set(keyOf(group), {
      ...group,
      first: Math.min(first, group.first),
      last: Math.max(last, group.last),
      n: n + group.n,
    });
  }
  return [...found.values()];
}

/** Returns which rides were changed at an instant or later: all of them, none, or some. */
function changedOf(
  { first, last }: Pick<StatusOfDay, "first" | "last">,
  since: number | undefined,
): "all" | "none" | "some" {
  if (since === undefined || first >= since) return "all";
  return last < since ? "none" : "some";
}

/** Returns how many rides of a day pass filters; undefined: that is not known without looking at each. */
function countOfDay(day: RideDay, { since, status }: ChangeFilters): number | undefined {
  if (day.isUnderWay) return undefined;
  let sum = 0;
  for (const each of day.statuses) {
    if (status !== undefined && each.status !== status) continue;
    const changed = changedOf(each, since);
    if (changed === "some") return countOfHours(day, { since, status }, 0, 24);
    if (changed === "all") sum += each.n;
  }
  return sum;
}

/** Returns how many rides of a range of hours pass filters; undefined: that is not known without looking at each. */
function countOfHours(
  { groups }: RideDay,
  { since, status }: ChangeFilters,
  begin: number,
  end: number,
): number | undefined {
  const wanted = status === undefined ? undefined : STATUSES.indexOf(status as Status);
  let sum = 0;
  for (let at = 0; at < groups.length; at += WIDTH) {
    const [hour = 0, statusIndex = 0, first = 0, last = 0, n = 0] = groups.subarray(at, at + WIDTH);
    if (hour < begin || hour >= end) continue;
    // The status of these rides may have changed since the day was read.
    if (STATUSES[statusIndex] === "started") return undefined;
    if (wanted !== undefined && statusIndex !== wanted) continue;
    const changed = changedOf({ first, last }, since);
    if (changed === "some") return undefined;
    if (changed === "all") sum += n;
  }
  return sum;
}

/**
 * Returns a day as parts with their numbers, the youngest first: one part if its number is known, else one for each hour.
 * Returns no parts if no ride of the day passes the filters.
 * @param isCut whether only a part of the day is requested, which needs its hours
 */
function partsOfDay(day: RideDay, filters: ChangeFilters, isCut: boolean): Stretch[] {
  const n = countOfDay(day, filters);
  if (n === 0) return [];
  if (n !== undefined && !isCut) return [{ from: day.from, to: day.to, n }];
  return hoursOf(day, filters);
}

/** Returns the hours of a day, the youngest first. */
function hoursOf(day: RideDay, filters: ChangeFilters): Stretch[] {
  const hours = Math.ceil((day.to - day.from) / HOUR_MS);
  return Array.from({ length: hours }, (_, index) => {
    const hour = hours - 1 - index;
    const from = day.from + hour * HOUR_MS;
    return { from, to: from + HOUR_MS, n: countOfHours(day, filters, hour, hour + 1) };
  });
}

/**
 * Returns how many rides of a day started in the hours that overlap with a stretch.
 * @param status the status that the rides had when the day was read; undefined: any
 */
function ridesOfDay(
  { from: midnight, groups }: RideDay,
  { from, to }: Pick<Stretch, "from" | "to">,
  status: string | undefined,
): number {
  const [begin, end] = [Math.floor((from - midnight) / HOUR_MS), Math.ceil((to - midnight) / HOUR_MS)];
  let sum = 0;
  for (let at = 0; at < groups.length; at += WIDTH) {
    const [hour = 0, statusIndex = 0, , , n = 0] = groups.subarray(at, at + WIDTH);
    if (hour >= begin && hour < end && (status === undefined || STATUSES[statusIndex] === status)) sum += n;
  }
  return sum;
}

/** A part of the list whose rides are counted. */
export interface CountedStretch extends Stretch {
  readonly n: number;
}

/** The filters of a list of rides that the remembered days can check. */
export interface DayFilters extends ChangeFilters {
  /** The ride started at this instant or later. */
  readonly from: number;
  /** The ride started before this instant. */
  readonly to: number;
}

/** The days of past rides in memory. */
export interface PastDays {
  /** The end of the known past, milliseconds since 1970. */
  readonly upto: number;
  /** The beginning of the known past; -Infinity when no older days remain to be read. */
  readonly knownFrom: number;
  /** The youngest first. Days of the known past that are missing have no rides. */
  readonly days: readonly RideDay[];
}

/**
 * Returns the past as parts, the youngest first, each with the number of its rides that pass filters, if that follows from
 * the days. Leaves out days of which no ride passes.
 */
export function* partsOf({ days, knownFrom }: PastDays, filters: DayFilters): Generator<Stretch> {
  const { from, to } = filters;
  for (const day of days) {
    if (day.from >= to) continue;
    if (day.to <= from) return;
    yield* partsOfDay(day, filters, from > day.from || to < day.to);
  }
  if (knownFrom > -Infinity) yield { from: -Infinity, to: knownFrom, n: undefined };
}

/**
 * Returns the parts of the list in which rides pass filters, the youngest first.
 * @param parts past parts, the youngest first, each with its number; undefined: to be counted
 * @param upto the end of the known past: younger rides are counted
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
    // Adjacent parts without a number become one stretch, so that they are counted together.
    if (n === undefined && last !== undefined && last.n === undefined && last.from === clipped.to)
      last.from = clipped.from;
    else stretches.push({ ...clipped, n });
  };
  add({ from: upto, to: Infinity, n: undefined });
  for (const part of parts) add(part);
  return stretches;
}

/**
 * Returns the stretches. A stretch that is a day and has rides of the page (`limit` rides after `skip`) is split into hours,
 * unless the number of an hour is not known: then only the whole day was counted.
 */
export function* byHour(
  stretches: readonly CountedStretch[],
  { days }: Pick<PastDays, "days">,
  filters: ChangeFilters,
  { skip, limit }: { readonly skip: number; readonly limit: number },
): Generator<CountedStretch> {
  let passed = 0;
  for (const stretch of stretches) {
    const hasRidesOfPage = passed < skip + limit && passed + stretch.n > skip;
    const day = hasRidesOfPage ? days.find(({ from, to }) => from === stretch.from && to === stretch.to) : undefined;
    const parts = day === undefined ? [] : hoursOf(day, filters);
    if (parts.length > 0 && parts.every(isCounted)) yield* parts;
    else yield stretch;
    passed += stretch.n;
  }
}

/** Tells whether the number of a stretch's rides is known. */
function isCounted(stretch: Stretch): stretch is CountedStretch {
  return stretch.n !== undefined;
}

/**
 * Returns the stretches. The first two days from an instant back are split into hours. Further back whole days suffice,
 * because they are read only if these two have too few rides for a page.
 */
export function* byHourBehind(
  stretches: Iterable<Stretch>,
  { days }: Pick<PastDays, "days">,
  filters: ChangeFilters,
  at: number,
): Generator<Stretch> {
  let split = 0;
  for (const stretch of stretches) {
    const isNear = stretch.from <= at && split < 2;
    const day = isNear ? days.find(({ from, to }) => from === stretch.from && to === stretch.to) : undefined;
    if (day === undefined) yield stretch;
    else {
      split++;
      yield* hoursOf(day, filters);
    }
  }
}

/** The time before `upto` whose rides stand in for those since `upto`, which is one to two hours ago. */
const STAND_IN_MS = 2 * HOUR_MS;

/**
 * Returns about how many rides of a status started between two instants. The rides since `upto` are not known: as many are
 * assumed as started in the last `STAND_IN_MS` before it. Returns Infinity when the stretch begins before the known past.
 */
export function ridesBetween(
  { days, upto, knownFrom }: PastDays,
  { from, to }: Pick<Stretch, "from" | "to">,
  status: string | undefined,
): number {
  if (from < knownFrom) return Infinity;
  const count = (begin: number, end: number) => {
    let sum = 0;
    for (const day of days) {
      if (day.from >= end) continue;
      // The days are sorted, the youngest first.
      if (day.to <= begin) break;
      sum += ridesOfDay(day, { from: begin, to: end }, status);
    }
    return sum;
  };
  return count(from, Math.min(to, upto)) + (to > upto ? count(upto - STAND_IN_MS, upto) : 0);
}

/** Where the rides of a page are found. */
export interface PageSpan {
  /** The rides of the page started at `from` or later, and before `to`. */
  readonly from: number;
  readonly to: number;
  /**
   * The number of rides to skip within the span: from its first ride in the list's order, or with `fromEnd` from its last.
   */
  readonly skip: number;
  readonly fromEnd: boolean;
  readonly limit: number;
}

/** Finds a page of `limit` rides after `skip`, from the nearer end of the stretches that hold it; undefined: it is empty. */
export function spanOf(stretches: readonly CountedStretch[], skip: number, limit: number): PageSpan | undefined {
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
  // The last page has fewer rides.
  return first === undefined || passed <= skip ? undefined : spanOf(stretches, skip, passed - skip);
}

/**
 * Returns which rides of a part of the past were changed at an instant or later: all of them, none, or some (or that is not
 * known).
 * @param days the past days, the youngest first
 */
export function changedIn(
  part: Pick<Stretch, "from" | "to">,
  { days, upto, knownFrom }: PastDays,
  { since, status }: ChangeFilters,
): "all" | "none" | "some" {
  if (since === undefined) return "all";
  if (part.to > upto || part.from < knownFrom) return "some";
  let [all, none] = [true, true];
  for (const { from, isUnderWay, statuses } of days) {
    if (from >= part.to) continue;
    if (from + DAY_MS <= part.from) break;
    if (isUnderWay) return "some";
    for (const each of statuses) {
      if (status !== undefined && each.status !== status) continue;
      const changed = changedOf(each, since);
      all &&= changed === "all";
      none &&= changed === "none";
    }
    if (!all && !none) return "some";
  }
  return none ? "none" : "all";
}

/**
 * Returns the start times between which the `limit` rides lie that follow an instant in the list, which are older, so that
 * few others are read.
 * @param at the start time of the last ride of the page before
 * @param stretches a stretch without a number counts as 0 rides
 */
export function behind(
  stretches: Iterable<Stretch>,
  at: number,
  limit: number,
): { readonly from: number; readonly to: number } {
  let to: number | undefined;
  let from = at;
  // The rides that certainly follow `at`.
  let sure = 0;
  for (const stretch of stretches) {
    // The rides of the stretch that contains `at` do not count, because any number of them may precede the cursor.
    if (stretch.from > at) continue;
    to ??= stretch.to;
    from = stretch.from;
    if (stretch.to <= at) sure += stretch.n ?? 0;
    if (sure >= limit) break;
  }
  return { from, to: to ?? at };
}
