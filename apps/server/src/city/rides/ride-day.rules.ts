import type { Tables } from "../../storage/db/tables.generated.ts";

type Status = Tables["rides"]["status"];

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Rides that started in the same hour, have a status, and were last changed at about the same time. */
export interface RideGroup {
  /** Of the day, from 0. */
  readonly hour: number;
  readonly status: Status;
  /** Milliseconds since 1970: when the first and the last of them was last changed. */
  readonly first: number;
  readonly last: number;
  readonly n: number;
}

/** Rides of one status of a whole day. */
interface StatusOfDay {
  readonly status: Status;
  readonly first: number;
  readonly last: number;
  readonly n: number;
}

/** The rides that started on a day (UTC). */
export interface RideDay {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** The end of the known part: the end of the day, or an earlier time if the day was not over. */
  readonly to: number;
  readonly statuses: readonly StatusOfDay[];
  /** A ride of the day is under way, so that what is known of its hour does not last. */
  readonly isUnderWay: boolean;
  /** The groups, `WIDTH` numbers each: as objects they take three times the memory. */
  readonly groups: Float64Array;
}

/** A part of the list of rides, by when they started: milliseconds since 1970, with no end where infinite. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
  /** How many rides in it pass the filters; undefined: they are to be counted. */
  readonly n: number | undefined;
}

/** The filters of a list of rides other than the start time. */
export interface ChangeFilters {
  /** The ride was changed at this instant or later. */
  readonly since: number | undefined;
  readonly status: string | undefined;
}

const STATUSES: readonly Status[] = ["started", "completed", "cancelled"];
const WIDTH = 5;
/** Groups of an hour that are remembered. Where its rides were changed at more times, they are taken together. */
const MAX_GROUPS_OF_HOUR = 12;

export function rideDay(from: number, to: number, given: readonly RideGroup[]): RideDay {
  const groups = given.length > MAX_GROUPS_OF_HOUR ? withFewGroups(given) : given;
  return {
    from,
    to,
    statuses: together(groups, ({ status }) => status),
    isUnderWay: groups.some(({ status }) => status === "started"),
    groups: Float64Array.from(
      groups.flatMap(({ hour, status, first, last, n }) => [hour, STATUSES.indexOf(status), first, last, n]),
    ),
  };
}

/** One group for each hour and status where an hour has many. */
function withFewGroups(groups: readonly RideGroup[]): readonly RideGroup[] {
  const numbers = new Map<number, number>();
  for (const { hour } of groups) numbers.set(hour, (numbers.get(hour) ?? 0) + 1);
  const hasMany = ({ hour }: RideGroup) => (numbers.get(hour) ?? 0) > MAX_GROUPS_OF_HOUR;
  return [
    ...groups.filter((group) => !hasMany(group)),
    ...together(groups.filter(hasMany), ({ hour, status }) => `${hour} ${status}`),
  ];
}

function together<Group extends StatusOfDay>(groups: readonly Group[], keyOf: (group: Group) => string): Group[] {
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
export function changedOf(
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

/** The same of the hours from one up to another. */
function countOfHours(
  { groups }: RideDay,
  { since, status }: ChangeFilters,
  begin: number,
  end: number,
): number | undefined {
  const wanted = status === undefined ? undefined : STATUSES.indexOf(status as Status);
  let sum = 0;
  for (let at = 0; at < groups.length; at += WIDTH) {
    const [hour = 0, is = 0, first = 0, last = 0, n = 0] = groups.subarray(at, at + WIDTH);
    if (hour < begin || hour >= end) continue;
    if (STATUSES[is] === "started") return undefined;
    if (wanted !== undefined && is !== wanted) continue;
    const changed = changedOf({ first, last }, since);
    if (changed === "some") return undefined;
    if (changed === "all") sum += n;
  }
  return sum;
}

/**
 * Returns a day as parts with known numbers, the youngest first: whole where that decides, else by the hour.
 * @param isCut whether a part of the day is asked for
 */
export function partsOfDay(day: RideDay, filters: ChangeFilters, isCut: boolean): Stretch[] {
  const n = countOfDay(day, filters);
  if (n === 0) return [];
  if (n !== undefined && !isCut) return [{ from: day.from, to: day.to, n }];
  return hoursOf(day, filters);
}

/** Returns the hours of a day, the youngest first. */
export function hoursOf(day: RideDay, filters: ChangeFilters): Stretch[] {
  const hours = Math.ceil((day.to - day.from) / HOUR_MS);
  return Array.from({ length: hours }, (_, index) => {
    const hour = hours - 1 - index;
    const from = day.from + hour * HOUR_MS;
    return { from, to: from + HOUR_MS, n: countOfHours(day, filters, hour, hour + 1) };
  });
}

/**
 * Returns how many rides of a day and a status started between two instants, in whole hours; undefined: one of them is
 * under way.
 */
export function ridesOfDay(
  day: RideDay,
  { from, to }: Pick<Stretch, "from" | "to">,
  status: string | undefined,
): number | undefined {
  const [begin, end] = [Math.floor((from - day.from) / HOUR_MS), Math.ceil((to - day.from) / HOUR_MS)];
  return countOfHours(day, { since: undefined, status }, begin, end);
}
