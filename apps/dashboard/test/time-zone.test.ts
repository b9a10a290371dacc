import { afterAll, expect, it } from "vitest";
import { instantAt, setTimeZone, wallTime } from "../src/components/time-zone.ts";

afterAll(() => setTimeZone(undefined));

const ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "UTC"];
const MINUTE_MS = 60_000;

it.each(ZONES)("in %s, a time that clocks show is read as the first instant at which they show it", (zone) => {
  setTimeZone(zone);
  const end = Date.parse("2027-01-01T00:00:00Z");
  for (let ms = Date.parse("2026-01-01T00:00:00Z"); ms < end; ms += 53 * MINUTE_MS) {
    const shown = wallTime(new Date(ms));
    const read = instantAt(shown)?.getTime() ?? Number.NaN;
    expect([shown, wallTime(new Date(read))]).toEqual([shown, shown]);
    // The clocks of no zone here are set back by more than an hour.
    expect([0, 30, 60].map((minutes) => ms - minutes * MINUTE_MS)).toContain(read);
  }
});

it.each([
  ["Europe/Berlin", "2026-10-25T02:30", "2026-10-25T00:30:00.000Z"],
  ["America/New_York", "2026-11-01T01:30", "2026-11-01T05:30:00.000Z"],
  ["Europe/Berlin", "2026-03-29T02:30", "2026-03-29T01:30:00.000Z"],
  ["America/New_York", "2026-03-08T02:30", "2026-03-08T07:30:00.000Z"],
])("in %s, %s is %s: the first of two, or as if clocks were not set forward", (zone, wall, instant) => {
  setTimeZone(zone);
  expect(instantAt(wall)?.toISOString()).toBe(instant);
});
