import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";

const DAY = 24 * 3_600_000;

/** The day in UTC, `2026-01-31`, of an instant in milliseconds since 1970. */
export function dayOf(instant: number): string {
  return new Date(instant).toISOString().slice(0, 10);
}

/** The day that comes `n` days after a day (negative: before it). */
export function addDays(day: string, n: number): string {
  return dayOf(Date.parse(day) + n * DAY);
}

/** The name of the partition that holds a day's events. */
export function partitionOf(day: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new Error(`not a day: ${day}`);
  return `events_${day.replaceAll("-", "")}`;
}

/** The day of a partition; undefined when the name is none of ours. */
export function dayOfPartition(name: string): string | undefined {
  const [, year, month, day] = /^events_(\d{4})(\d{2})(\d{2})$/.exec(name) ?? [];
  return year === undefined ? undefined : `${year}-${month}-${day}`;
}

/** The days to have partitions for on a day: tomorrow's too, so that midnight finds it made. */
export function daysAhead(today: string): readonly string[] {
  return [today, addDays(today, 1)];
}

/** Those of `days` that have no partition among the named ones. */
export function daysWithout(partitions: readonly string[], days: readonly string[]): readonly string[] {
  return days.filter((day) => !partitions.includes(partitionOf(day)));
}

/** The days among the partitions' of which even the last event is older than events are kept. */
export function daysPast(partitions: readonly string[], today: string): readonly string[] {
  const oldestKept = addDays(today, -EVENT_RETENTION_DAYS);
  return partitions.flatMap((name) => {
    const day = dayOfPartition(name);
    return day !== undefined && day < oldestKept ? [day] : [];
  });
}
