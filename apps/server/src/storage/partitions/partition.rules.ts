import {
  EVENT_RETENTION_DAYS,
  HISTORY_RETENTION_DAYS,
  REQUEST_LOG_DAYS,
  VEHICLE_EVENT_DAYS,
} from "@bikeshare/contract";

/*
 * The tables that are partitioned by day or month (daily tables), the names of their partitions, and the days for which
 * partitions are needed or past.
 */

const DAY_MS = 24 * 3_600_000;

/** A leap year's days, so that an act can be found on its anniversary. */
const AUDIT_RETENTION_DAYS = 366;

/** A table with one partition for each day or month. A partition is dropped whole when its rows are no longer kept. */
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
  /** Whether a row of a day without a partition goes into a default partition. Otherwise its insert fails. */
  readonly hasDefault: boolean;
  /**
   * Percent of a page that inserts fill; default 100. A lower value leaves room for updated rows on their page, so that
   * PostgreSQL does not write their index entries again.
   */
  readonly fillfactor?: number;
  /** Days for which rows are kept. Default: as long as events, because a delivery may be sent again for as long. */
  readonly retentionDays?: number;
  /** Rows of other tables that are useless once this table's rows of the same day are deleted. */
  readonly dependents: readonly Dependent[];
  /** Whether the service's own role may only add rows and read them: the right to change them is withheld. */
  readonly isAppendOnly?: true;
}

/** A table, and its column that has a row's day. */
export interface DayColumn {
  readonly table: string;
  readonly day: "recorded_on" | "created_on" | "started_on" | "logged_on" | "counted_on" | "changed_on" | "happened_on";
}

/** Rows of another table that belong to a day. */
interface Dependent extends DayColumn {
  /**
   * The text of the warning that such rows still existed when their day was to be dropped. It says what is lost. The
   * rows are deleted before the day. Undefined: such rows are expected, and are deleted with the day without a warning.
   */
  readonly loss?: string;
}

/** The events list. Only the sequencer, which numbers committed events, writes it. It creates the partitions itself before. */
export const eventsTable: DailyTable = {
  name: "events",
  day: "recorded_on",
  hasDefault: false,
  dependents: [{ table: "event_counts", day: "recorded_on" }],
};

/** Every table partitioned by day or month, in the order in which days are dropped: deliveries before their bodies. */
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
  // By month: the state at one time is read from one partition, and a station's month is stored together. A distributed
  // database has a table of each partition for each system, so daily ones would be too many.
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

/**
 * The latest result of `dayOf`, which is called several times for each delivery, nearly always for today. NaN equals no day,
 * so the first call computes its result.
 */
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
  // The day 31 days after the first of a month is always in the next month.
  return table.period === "month" ? firstDayOf(table, addDays(firstDayOf(table, day), 31)) : addDays(day, 1);
}

/** Returns the name of the partition that holds a table's rows of a day. */
export function partitionOf({ name, period }: DailyTable, day: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new Error(`not a day: ${day}`);
  return `${name}_${day.slice(0, period === "month" ? 7 : 10).replaceAll("-", "")}`;
}

/** Returns the name of a table's default partition, for rows of days that have no partition. */
export function defaultOf({ name }: DailyTable): string {
  return `${name}_default`;
}

/** Returns the first day of a table's partition; undefined when `name` is not the name of such a partition. */
export function dayOfPartition({ name: table, period }: DailyTable, name: string): string | undefined {
  const pattern = period === "month" ? /^(\w+)_(\d{4})(\d{2})$/ : /^(\w+)_(\d{4})(\d{2})(\d{2})$/;
  const [, of, year, month, day = "01"] = pattern.exec(name) ?? [];
  return of === table ? `${year}-${month}-${day}` : undefined;
}

/** Returns the days that need partitions: today, and tomorrow, so that its partition exists at midnight. */
export function daysAhead(today: string): readonly string[] {
  return [today, addDays(today, 1)];
}

/** Returns the first days of the partitions that `days` need and that are missing in `partitions`. */
export function daysWithout(table: DailyTable, partitions: readonly string[], days: readonly string[]): string[] {
  const firstDays = new Set(days.map((day) => firstDayOf(table, day)));
  return [...firstDays].filter((day) => !partitions.includes(partitionOf(table, day)));
}

/** Returns the oldest day whose rows are kept. Default: as long as events can be read and deliveries sent again. */
export function oldestKept(today: string, retentionDays = EVENT_RETENTION_DAYS): string {
  return addDays(today, -retentionDays);
}

/** Returns the first days of those partitions of a table whose rows are all beyond the retention period. */
export function daysPast(table: DailyTable, partitions: readonly string[], today: string): string[] {
  return partitions.flatMap((name) => {
    const day = dayOfPartition(table, name);
    return day !== undefined && isPast(table, day, today) ? [day] : [];
  });
}

/** Tells whether all rows of the partition that begins on a day are beyond the retention period. */
export function isPast(table: DailyTable, day: string, today: string): boolean {
  return endOf(table, day) <= oldestKept(today, table.retentionDays);
}

/**
 * Tells whether a table has the partition of the day before today. It is missing after the clock has jumped ahead, and after
 * a day on which no process created partitions.
 */
export function hasYesterday(table: DailyTable, partitions: readonly string[], today: string): boolean {
  return daysWithout(table, partitions, [addDays(today, -1)]).length === 0;
}
