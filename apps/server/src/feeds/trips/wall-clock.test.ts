import { describe, expect, it } from "vitest";
import { compactLocal, isSpreadsheetTime, readWallTime } from "./trip-times.rules.ts";

describe("readWallTime", () => {
  it.each([
    ["2019-01-01 03:09:09.7110", "2019-01-01T03:09:09.711Z", undefined],
    ["2023-06-05 13:34:12", "2023-06-05T13:34:12.000Z", undefined],
    ["2023-06-05T13:34:12Z", "2023-06-05T13:34:12.000Z", 0],
    ["2019-04-01 04:02:20.493000+00:00", "2019-04-01T04:02:20.493Z", 0],
    ["2019-04-01 04:02:20-05:30", "2019-04-01T04:02:20.000Z", -19_800_000],
    ["1/31/2015 0:01", "2015-01-31T00:01:00.000Z", undefined],
    ["6/30/2013 23:59:07", "2013-06-30T23:59:07.000Z", undefined],
    ["2020-02-29 00:00", "2020-02-29T00:00:00.000Z", undefined],
  ])("reads %s", (text, local, offset) => {
    expect(readWallTime(text)).toEqual({ local: Date.parse(local), offset });
  });

  it.each([
    "06:17.5",
    "",
    "yesterday",
    "2021-02-29 10:00:00",
    "2021-13-01 10:00:00",
    "2021-01-01 24:00:00",
    "2021-01-01",
    "43831.5",
    "13/31/2015 0:01",
    "2021-01-01 10:60:00",
  ])("does not take %j for a time", (text) => {
    expect(readWallTime(text)).toBeUndefined();
  });
});

describe("isSpreadsheetTime", () => {
  it("knows what a spreadsheet leaves of a time", () => {
    expect(isSpreadsheetTime("06:17.5")).toBe(true);
    expect(isSpreadsheetTime("06:17")).toBe(false);
  });
});

describe("compactLocal", () => {
  it("writes a local time without punctuation, to the millisecond", () => {
    expect(compactLocal(Date.parse("2019-01-01T03:09:09.711Z"))).toBe("20190101T030909.711");
  });
});
