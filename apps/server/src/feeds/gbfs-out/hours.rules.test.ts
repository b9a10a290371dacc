import { describe, expect, test } from "vitest";
import { hoursFrom, isOpenAt, localTime, openingHoursOf, plainHours } from "./hours.rules.ts";

const isOpen = (text: string, at: string, zone = "UTC") => {
  const hours = hoursFrom(text);
  return hours && isOpenAt(hours, localTime(Date.parse(at), zone));
};

describe("hours", () => {
  // 1 June 2026 is a Monday.
  test.each([
    ["24/7", "2026-06-01T03:00:00Z", true],
    ["Mo-Su 05:00-24:00", "2026-06-01T04:59:59Z", false],
    ["Mo-Su 05:00-24:00", "2026-06-01T05:00:00Z", true],
    ["05:00-24:00", "2026-06-01T23:59:59Z", true],
    ["Mo-Fr 08:00-12:00,13:00-17:00", "2026-06-01T12:30:00Z", false],
    ["Mo-Fr 08:00-12:00,13:00-17:00", "2026-06-01T13:30:00Z", true],
    ["Mo-Fr 08:00-12:00,13:00-17:00", "2026-06-06T13:30:00Z", false],
    ["Sa-Mo,We", "2026-06-01T13:30:00Z", true],
    ["Sa-Mo,We", "2026-06-02T13:30:00Z", false],
    ["Fr,Sa 22:00-02:00", "2026-06-07T01:00:00Z", true],
    ["Fr,Sa 22:00-02:00", "2026-06-07T22:30:00Z", false],
    ["Fr 18:00-26:00", "2026-06-06T01:59:00Z", true],
    ["24/7; Mo off", "2026-06-01T13:30:00Z", false],
    ["24/7; Mo off", "2026-06-02T13:30:00Z", true],
    ["Mo-Fr 06:00-22:00; We 08:00-12:00", "2026-06-03T13:30:00Z", false],
    ["Mo 06:00-09:00, Mo 12:00-15:00", "2026-06-01T13:30:00Z", true],
    ["Mo 06:00-09:00, Mo 12:00-15:00", "2026-06-01T07:00:00Z", true],
    ["Apr-Oct 06:00-23:00", "2026-06-01T13:30:00Z", true],
    ["Apr-Oct 06:00-23:00", "2026-12-01T13:30:00Z", false],
    ["Apr 15-Oct 31 Mo-Su 06:00-23:00", "2026-04-14T13:30:00Z", false],
    ["Nov-Mar off; Apr-Oct 24/7", "2026-01-01T13:30:00Z", false],
    ["Nov 15-Mar 1: 08:00-17:00", "2026-01-01T09:00:00Z", true],
  ])("%s at %s", (text, at, expected) => expect(isOpen(text, at)).toBe(expected));

  test.each([
    "PH off",
    "Mo-Fr 08:00-17:00; PH off",
    "sunrise-sunset",
    "week 1-20 Mo",
    "2026 Mo",
    "Mo[1]",
    "by appointment",
    "",
  ])("%s cannot be evaluated", (text) => expect(hoursFrom(text)).toBeUndefined());

  test("follow the city's clock over the change to summer time and back", () => {
    const oslo = (at: string) => isOpen("05:00-24:00", at, "Europe/Oslo");
    expect(oslo("2026-03-28T04:00:00Z")).toBe(true); // 05:00 in winter
    expect(oslo("2026-03-28T03:59:00Z")).toBe(false);
    expect(oslo("2026-03-29T03:00:00Z")).toBe(true); // 05:00 in summer
    expect(oslo("2026-03-29T02:59:00Z")).toBe(false);
    expect(oslo("2026-10-25T03:59:00Z")).toBe(false);
    expect(oslo("2026-10-25T04:00:00Z")).toBe(true);
  });
});

describe("as GBFS 2.3 writes them", () => {
  const plain = (text: string) => {
    const hours = hoursFrom(text);
    return hours && plainHours(hours);
  };
  const user_types = ["member", "nonmember"];

  test("every day of the week has its times", () => {
    expect(plain("24/7")?.rental_hours).toEqual([
      {
        user_types,
        days: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
        start_time: "00:00:00",
        end_time: "23:59:59",
      },
    ]);
    expect(plain("Mo-Fr 06:00-22:00; We off")?.rental_hours).toEqual([
      { user_types, days: ["mon", "tue", "thu", "fri"], start_time: "06:00:00", end_time: "22:00:00" },
    ]);
  });

  test("a night is two parts of days, and one season is the calendar", () => {
    expect(plain("Apr 15-Oct 31 Sa 22:00-02:00")).toEqual({
      season: { start: 415, end: 1031 },
      rental_hours: [
        { user_types, days: ["sat"], start_time: "22:00:00", end_time: "23:59:59" },
        { user_types, days: ["sun"], start_time: "00:00:00", end_time: "02:00:00" },
      ],
    });
  });

  test("hours that differ by season cannot be written", () =>
    expect(plain("Apr-Oct 06:00-22:00; Nov-Mar 08:00-17:00")).toBeUndefined());
});

describe("hours of a feed before 3.0", () => {
  const weekdays = ["mon", "tue"] as const;
  const hours = (start_time: string, end_time: string) => ({ days: weekdays, start_time, end_time });
  const season = { start_month: 4, start_day: 1, end_month: 10, end_day: 31 };
  const year = { start_month: 1, start_day: 1, end_month: 12, end_day: 31 };

  test.each([
    [{ rental_hours: [hours("06:00:00", "22:00:00")] }, "Mo,Tu 06:00-22:00"],
    [{ rental_hours: [hours("06:00:00", "12:00:00"), hours("13:00:00", "23:59:59")], calendars: [year] }, "both"],
    [{ rental_hours: [hours("22:00:00", "02:00:00")], calendars: [season] }, "Apr 1-Oct 31 Mo,Tu 22:00-02:00"],
    [{ rental_hours: [], calendars: [season] }, "Apr 1-Oct 31 00:00-24:00"],
    [{ rental_hours: [], calendars: [year] }, undefined],
    [{ rental_hours: [], calendars: [season, year] }, undefined],
    [{ calendars: [{ ...season, start_year: 2026 }] }, undefined],
  ])("%j are %s in newer ones, and can be evaluated", (said, expected) => {
    const text = openingHoursOf(said);
    expect(text).toBe(expected === "both" ? "Mo,Tu 06:00-12:00, Mo,Tu 13:00-24:00" : expected);
    if (text !== undefined) expect(hoursFrom(text)).toBeDefined();
  });
});
