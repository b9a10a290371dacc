import type { gbfsFeeds, ValueOf } from "@bikeshare/contract";

/*
 * This file evaluates the part of OpenStreetMap's `opening_hours` that bike-share systems use: `24/7`, and rules with months
 * or dates, weekdays, times and `off`. It does not evaluate holidays, weeks, single years or sunrise.
 */

/**
 * Hours that can be evaluated. For each day the last matching rule applies. Rules after a comma add their times to the rule
 * before.
 */
export interface Hours {
  readonly rules: readonly HoursRule[];
}

interface HoursRule {
  /** The season in which the rule applies; undefined: the whole year. */
  readonly season: Season | undefined;
  /** The weekdays on which the rule applies; 0 is Sunday. */
  readonly weekdays: ReadonlySet<number>;
  /** Opening times: start and end in minutes since midnight. An end above 1440 is on the next day. Empty: closed. */
  readonly spans: readonly (readonly [from: number, to: number])[];
  /** Whether a comma adds the spans to those of the previous rule. */
  readonly isAdded: boolean;
}

/** First and last date of a season, as month × 100 + day: 1031 is October 31. A season may include the turn of the year. */
interface Season {
  readonly start: number;
  readonly end: number;
}

const DAY_MINUTES = 1440;
const dayNames = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"] as const;
const monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"] as const;
const everyDay = new Set(dayNames.keys());

const DAY = `(?:${dayNames.join("|")})`;
const MONTH = `(?:${monthNames.join("|")})`;
/** A month, or a month and a day. In `Apr 10:00-12:00`, the 10 is no day, but part of a time. */
const DATE = `${MONTH}(?: \\d{1,2}(?!\\d|:\\d))?`;
const TIME = "\\d{1,2}:\\d{2}";
const list = (item: string) => `${item}(?: ?, ?${item})*`;
/** One rule: a season, weekdays, times, and whether it opens or closes, each of which may be missing. */
const RULE = new RegExp(
  `^(?:(?<season>${DATE}(?: ?- ?${DATE})?):? ?)?(?:(?<days>${list(`${DAY}(?: ?- ?${DAY})?`)}) ?)?` +
    `(?:(?<always>24/7)|(?<times>${list(`${TIME} ?- ?${TIME}`)}))? ?(?<state>off|closed|open)?$`,
);
/** Separates rules: a semicolon, or a comma between a time and a month or weekday. Other commas continue a list. */
const NEXT_RULE = new RegExp(`\\s*;\\s*|\\s*,\\s*(?=(?:${MONTH}|${DAY}))(?<=${TIME}\\s*,\\s*)`);

/** Parses `opening_hours`. @returns undefined when the text cannot be evaluated */
export function hoursFrom(text: string): Hours | undefined {
  const rules: HoursRule[] = [];
  let isAdded = false;
  let rest = text.trim().replace(/\s*;$/, "");
  for (;;) {
    const next = NEXT_RULE.exec(rest);
    const rule = ruleFrom(next === null ? rest : rest.slice(0, next.index), isAdded);
    if (rule === undefined) return undefined;
    rules.push(rule);
    // Hours that never open, such as `Su off` alone, are treated as a mistake.
    if (next === null) return rules.some(({ spans }) => spans.length > 0) ? { rules } : undefined;
    isAdded = !next[0].includes(";");
    rest = rest.slice(next.index + next[0].length);
  }
}

/** Parses one rule; undefined when it cannot be evaluated. @param isAdded whether a comma stands before the rule */
function ruleFrom(text: string, isAdded: boolean): HoursRule | undefined {
  const groups = RULE.exec(text)?.groups;
  if (text === "" || groups === undefined) return undefined;
  const isOff = groups["state"] === "off" || groups["state"] === "closed";
  const season = groups["season"] === undefined ? undefined : seasonFrom(groups["season"]);
  const spans = groups["times"]?.split(",").map(spanFrom) ?? [[0, DAY_MINUTES] as const];
  // A rule that closes only some hours of a day, such as `12:00-13:00 off`, or that closes after a comma is not evaluated.
  const isBreak = isOff && (groups["times"] !== undefined || isAdded);
  if (season === null || isBreak) return undefined;
  return { season, weekdays: weekdaysFrom(groups["days"]), spans: isOff ? [] : spans, isAdded };
}

/** Parses weekdays such as `Mo-Fr,Su`; undefined: the rule names none, and applies every day. */
function weekdaysFrom(days: string | undefined): ReadonlySet<number> {
  if (days === undefined) return everyDay;
  const weekdays = new Set<number>();
  for (const range of days.split(",")) {
    const [first = 0, last = first] = range.split("-").map((name) => dayNames.findIndex((day) => day === name.trim()));
    // Goes on from Saturday to Sunday: `Fr-Mo` is a range too.
    for (let day = first; ; day = (day + 1) % 7) {
      weekdays.add(day);
      if (day === last) break;
    }
  }
  return weekdays;
}

/** Parses the dates of a season. @returns null for a day below 1 or above 31 */
function seasonFrom(text: string): Season | null {
  const dates = text.split("-").map((date) => {
    const [month = "", day] = date.trim().split(" ");
    return {
      month: monthNames.findIndex((name) => name === month) + 1,
      day: day === undefined ? undefined : Number(day),
    };
  });
  const [first, last = first] = dates;
  if (first === undefined || last === undefined) return null;
  // A date without a day means the whole month.
  const [startDay, endDay] = [first.day ?? 1, last.day ?? 31];
  if (![startDay, endDay].every((day) => day >= 1 && day <= 31)) return null;
  return { start: first.month * 100 + startDay, end: last.month * 100 + endDay };
}

/** Parses a span of times. An end that is not after the start is on the next day, as in `22:00-02:00`. */
function spanFrom(text: string): readonly [number, number] {
  const [from = 0, to = 0] = text.split("-").map((time) => {
    const [hours = 0, minutes = 0] = time.trim().split(":").map(Number);
    return hours * 60 + minutes;
  });
  return [from, to <= from ? to + DAY_MINUTES : to];
}

/** A local time in the city. */
export interface LocalTime {
  /** Such as 2026-01-31. */
  readonly date: string;
  /** The time of day by the clock, in minutes: 750 is 12:30. */
  readonly minute: number;
}

/** Returns the local time at an instant. @param at milliseconds since 1970 */
export function localTime(at: number, timeZone: string): LocalTime {
  const format = formats.get(timeZone) ?? formatOf(timeZone);
  formats.set(timeZone, format);
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
  return {
    date: `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`,
    minute: Number(part("hour")) * 60 + Number(part("minute")),
  };
}

/** The formats by time zone, because making one takes long. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const digits = "2-digit";
  return new Intl.DateTimeFormat("en", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: digits,
    day: digits,
    hour: digits,
    minute: digits,
  });
}

/** Returns the date some days later. @param date such as 2026-01-31 */
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

/** Tells whether hours are open at a local time. */
export function isOpenAt(hours: Hours, { date, minute }: LocalTime): boolean {
  const isWithin = (day: string, at: number) => spansOf(hours, day).some(([from, to]) => at >= from && at < to);
  // The hours of the day before may end after midnight.
  return isWithin(date, minute) || isWithin(dayAfter(date, -1), minute + DAY_MINUTES);
}

/** Returns the opening times of a date. */
function spansOf({ rules }: Hours, date: string): HoursRule["spans"] {
  const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
  // As in a season: month × 100 + day.
  const monthAndDay = Number(date.slice(5, 7)) * 100 + Number(date.slice(8));
  let spans: HoursRule["spans"] = [];
  for (const rule of rules) {
    if (!rule.weekdays.has(weekday) || !isInSeason(rule.season, monthAndDay)) continue;
    spans = rule.isAdded ? [...spans, ...rule.spans] : rule.spans;
  }
  return spans;
}

function isInSeason(season: Season | undefined, monthAndDay: number): boolean {
  if (season === undefined) return true;
  const { start, end } = season;
  const hasBegun = monthAndDay >= start;
  const hasNotEnded = monthAndDay <= end;
  // A season over the turn of the year begins in the old year and ends in the new one.
  const isOverNewYear = start > end;
  return isOverNewYear ? hasBegun || hasNotEnded : hasBegun && hasNotEnded;
}

/** Hours in the form of GBFS 2.3: the hours of each weekday, and the dates of the season. */
export interface PlainHours {
  readonly rental_hours: readonly {
    readonly user_types: readonly ("member" | "nonmember")[];
    readonly days: readonly Weekday[];
    readonly start_time: string;
    readonly end_time: string;
  }[];
  readonly season: Season | undefined;
}

const weekdayWords = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
type Weekday = (typeof weekdayWords)[number];

/**
 * Returns hours in the form of GBFS 2.3; undefined when it cannot express them, such as hours that differ by season.
 */
export function plainHours({ rules }: Hours): PlainHours | undefined {
  const season = rules[0]?.season;
  if (rules.some((rule) => JSON.stringify(rule.season) !== JSON.stringify(season))) return undefined;
  // Any date then shows the hours of its weekday, in the season or not.
  const withoutSeason = { rules: rules.map((rule) => ({ ...rule, season: undefined })) };
  const byTimes = new Map<string, Weekday[]>();
  const add = (weekday: number, from: number, to: number) => {
    const word = weekdayWords[weekday];
    if (word === undefined) return;
    const times = `${timeOf(from)}/${timeOf(to)}`;
    byTimes.set(times, [...(byTimes.get(times) ?? []), word]);
  };
  for (const weekday of dayNames.keys()) {
    // 4 January 1970 was a Sunday. A span over midnight is split into a part for each of the two days.
    for (const [from, to] of spansOf(withoutSeason, dayAfter("1970-01-04", weekday))) {
      if (from < DAY_MINUTES) add(weekday, from, Math.min(to, DAY_MINUTES));
      if (to > DAY_MINUTES) add((weekday + 1) % 7, Math.max(0, from - DAY_MINUTES), to - DAY_MINUTES);
    }
  }
  const rental_hours = [...byTimes].map(([times, days]) => {
    const [start_time = "", end_time = ""] = times.split("/");
    return { user_types: ["member", "nonmember"] as const, days, start_time, end_time };
  });
  return rental_hours.length === 0 ? undefined : { rental_hours, season };
}

/** Returns a time for GBFS 2.3, which has no 24:00. */
function timeOf(minutes: number): string {
  if (minutes >= DAY_MINUTES) return "23:59:59";
  const digits = (value: number) => String(value).padStart(2, "0");
  return `${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}:00`;
}

/** The hours and seasons in the form of GBFS before 3.0, as a feed publishes them. */
export interface SaidHours {
  readonly rental_hours?: ValueOf<typeof gbfsFeeds.system_hours.fields>["rental_hours"];
  readonly calendars?: ValueOf<typeof gbfsFeeds.system_calendar.fields>["calendars"];
}

/**
 * Converts hours of GBFS before 3.0 to OpenStreetMap's syntax; undefined when there are none, several seasons, or a season
 * of certain years.
 */
export function openingHoursOf({ rental_hours: hours = [], calendars = [] }: SaidHours): string | undefined {
  const [calendar, another] = calendars;
  if (another !== undefined || calendar?.start_year !== undefined || calendar?.end_year !== undefined) return undefined;
  const season = calendar === undefined ? "" : seasonText(calendar);
  if (season === "" && hours.length === 0) return undefined;
  const texts = hours.map(({ days = [], start_time = "", end_time = "" }) => {
    const names = days.map((day) => dayNames[weekdayWords.indexOf(day)]).join(",");
    // 23:59 is how GBFS writes the end of a day.
    const end = /^(23:59|24:00|00:00)/.test(end_time) ? "24:00" : end_time.slice(0, 5);
    return `${season}${names} ${start_time.slice(0, 5)}-${end}`;
  });
  // Joins by commas, so that all hours of a day count. After a semicolon, a rule would replace those before it.
  return texts.length === 0 ? `${season}00:00-24:00` : [...new Set(texts)].join(", ");
}

type Calendar = NonNullable<SaidHours["calendars"]>[number];

/** Returns a season in OpenStreetMap's syntax; empty for the whole year. */
function seasonText(calendar: Calendar): string {
  const { start_month = 1, start_day = 1, end_month = 12, end_day = 31 } = calendar;
  if (start_month === 1 && start_day === 1 && end_month === 12 && end_day === 31) return "";
  return `${monthNames[start_month - 1]} ${start_day}-${monthNames[end_month - 1]} ${end_day} `;
}
