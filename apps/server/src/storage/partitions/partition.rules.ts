import {
  EVENT_RETENTION_DAYS,
  HISTORY_RETENTION_DAYS,
  REQUEST_LOG_DAYS,
  VEHICLE_EVENT_DAYS,
} from "@bikeshare/contract";

const DAY_MS = 24 * 3_600_000;

/** A leap year's days, so that an act can be found on its anniversary. */
const AUDIT_RETENTION_DAYS = 366;

/** A table that has one partition a day, or a month, each dropped whole when it is past. */
export interface DailyTable {
  readonly name:
    | "events"
    | "webhook_bodies"
    | "webhook_deliveries"
    | "webhook_attempts"
    | "request_log"
    | "key_usage_minutes"
    | "audit_log"
    | "station_changes"
    | "vehicle_events";
  readonly day: DayColumn["day"];
  /** The period of a partition; a day by default. A month suits tables with few rows that are kept for long. */
  readonly period?: "month";
  /** Whether rows of a day without a partition go into a default partition, rather than fail. */
  readonly hasDefault: boolean;
  /**
   * Percent of a page that inserts fill; default 100. A lower value leaves room for updated rows on their page, so that
   * PostgreSQL does not write their index entries again.
   */
  readonly fillfactor?: number;
  /** Days for which rows are kept; those of events when left out: a delivery may be sent again for as long. */
  readonly retentionDays?: number;
  /** Rows elsewhere that mean nothing without the day's rows. */
  readonly dependents: readonly Dependent[];
  /** Whether the service's own role may only add rows and read them: the right to change them is withheld. */
  readonly isAppendOnly?: true;
}

/** A table, and its column with the day of a row. */
export interface DayColumn {
  readonly table: string;
  readonly day: "recorded_on" | "created_on" | "started_on" | "logged_on" | "counted_on" | "changed_on" | "happened_on";
}

/** Rows of another table that belong to a day. */
interface Dependent extends DayColumn {
  /**
   * The loss when rows exist although their day is dropped; they are deleted before it. Undefined: there are always some,
   * and they are deleted with it.
   */
  readonly loss?: string;
}

/** The events list. Only the sequencer writes it, and it creates the partitions itself before it does. */
export const eventsTable: DailyTable = {
  name: "events",
  day: "recorded_on",
  hasDefault: false,
  dependents: [{ table: "event_counts", day: "recorded_on" }],
};

/** Every table by day or month, in the order in which their days are dropped: deliveries before the bodies that they need. */
export const dailyTables: readonly DailyTable[] = [
  eventsTable,
  {
    name: "webhook_deliveries",
    day: "created_on",
    hasDefault: true,
    fillfactor: 80,
    dependents: [
      { table: "webhook_queue", day: "created_on", loss: "deliveries that were never sent" },
      { table: "webhook_replay_items", day: "created_on", loss: "deliveries that a replay had not reached" },
    ],
  },
  { name: "webhook_bodies", day: "created_on", hasDefault: true, dependents: [] },
  { name: "webhook_attempts", day: "started_on", hasDefault: true, dependents: [] },
  { name: "request_log", day: "logged_on", hasDefault: true, retentionDays: REQUEST_LOG_DAYS, dependents: [] },
  {
    name: "key_usage_minutes",
    day: "counted_on",
    hasDefault: true,
    fillfactor: 70,
    retentionDays: REQUEST_LOG_DAYS,
    dependents: [],
  },
  {
    name: "audit_log",
    day: "logged_on",
    period: "month",
    hasDefault: true,
    retentionDays: AUDIT_RETENTION_DAYS,
    dependents: [],
    isAppendOnly: true,
  },
  // By the month: a read of an instant looks into one partition, a station's month lies together, and a distributed database
  // has a table of each partition for each system.
  {
    name: "station_changes",
    day: "changed_on",
    period: "month",
    hasDefault: true,
    retentionDays: HISTORY_RETENTION_DAYS,
    dependents: [],
  },
  {
    name: "vehicle_events",
    day: "happened_on",
    hasDefault: true,
    retentionDays: VEHICLE_EVENT_DAYS,
    dependents: [],
  },
];

/** The day that was asked for last: nearly always today, several times for each delivery. */
let lastDay = { number: Number.NaN, name: "" };

/** Returns the day in UTC, `2026-01-31`, of an instant in milliseconds since 1970. */
export function dayOf(instant: number): string {
  const number = Math.floor(instant / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, name: new Date(instant).toISOString().slice(0, 10) };
  return lastDay.name;
}

/** Returns the day that comes `n` days after a day (negative: before it). */
export function addDays(day: string, n: number): string {
  return dayOf(Date.parse(day) + n * DAY_MS);
}

/** Returns the first day of the partition that holds a table's rows of a day. */
export function firstDayOf({ period }: DailyTable, day: string): string {
  return period === "month" ? `${day.slice(0, 7)}-01` : day;
}

/** Returns the first day after the partition that holds a table's rows of a day. */
export function endOf(table: DailyTable, day: string): string {
  // 31 days after the first of a month it is another month.
  return table.period === "month" ? firstDayOf(table, addDays(firstDayOf(table, day), 31)) : addDays(day, 1);
}

/** Returns the name of the partition that holds a table's rows of a day. */
export function partitionOf({ name, period }: DailyTable, day: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new Error(`not a day: ${day}`);
  return `${name}_${day.slice(0, period === "month" ? 7 : 10).replaceAll("-", "")}`;
}

/** Returns the name of the partition for rows of days without one. */
export function defaultOf({ name }: DailyTable): string {
  return `${name}_default`;
}

/** Returns the first day of a table's partition; undefined when the name is not that of one. */
export function dayOfPartition({ name: table, period }: DailyTable, name: string): string | undefined {
  const pattern = period === "month" ? /^(\w+)_(\d{4})(\d{2})$/ : /^(\w+)_(\d{4})(\d{2})(\d{2})$/;
  const [, of, year, month, day = "01"] = pattern.exec(name) ?? [];
  return of === table ? `${year}-${month}-${day}` : undefined;
}

/** Returns the days that need partitions: today, and tomorrow, so that midnight finds one. */
export function daysAhead(today: string): readonly string[] {
  return [today, addDays(today, 1)];
}

/** Returns the first days of the partitions that `days` need and that are not among the named ones. */
export function daysWithout(table: DailyTable, partitions: readonly string[], days: readonly string[]): string[] {
  const firstDays = new Set(days.map((day) => firstDayOf(table, day)));
  return [...firstDays].filter((day) => !partitions.includes(partitionOf(table, day)));
}

/** Returns the first day of which rows are kept: a delivery may be sent again, and an event read, for as many days. */
export function oldestKept(today: string, retentionDays = EVENT_RETENTION_DAYS): string {
  return addDays(today, -retentionDays);
}

/** Returns the first days of a table's partitions of which even the last row is older than rows are kept. */
export function daysPast(table: DailyTable, partitions: readonly string[], today: string): string[] {
  return partitions.flatMap((name) => {
    const day = dayOfPartition(table, name);
    return day !== undefined && endOf(table, day) <= oldestKept(today, table.retentionDays) ? [day] : [];
  });
}
