import { describe, expect, it } from "vitest";
import { openTimeZone, readWallTime, resolveTripTimes } from "./trip-times.rules.ts";

const zone = openTimeZone("America/New_York");

function resolve(start: string, end: string, seconds?: number) {
  const [from, to] = [readWallTime(start), readWallTime(end)];
  if (from === undefined || to === undefined) throw new Error("unreadable example");
  const times = resolveTripTimes(from, to, seconds === undefined ? undefined : seconds * 1000, zone);
  const { startedAt, endedAt } = times;
  return [new Date(startedAt).toISOString(), new Date(endedAt).toISOString(), times.isSecondOccurrence];
}

describe("resolveTripTimes", () => {
  it("counts the hour that is missing in spring, as the given duration does", () => {
    expect(resolve("2020-03-07 15:57:18.772", "2020-03-08 15:50:17.172", 82_378)).toEqual([
      "2020-03-07T20:57:18.772Z",
      "2020-03-08T19:50:17.172Z",
      false,
    ]);
  });

  it("lets the duration choose between the two showings of an hour, for the start and for the end", () => {
    expect(resolve("2021-11-07 00:50:00", "2021-11-07 01:10:00", 1200)[1]).toBe("2021-11-07T05:10:00.000Z");
    expect(resolve("2021-11-07 00:50:00", "2021-11-07 01:10:00", 4800)[1]).toBe("2021-11-07T06:10:00.000Z");
    expect(resolve("2021-11-07 01:50:00", "2021-11-07 02:10:00", 1200)).toEqual([
      "2021-11-07T06:50:00.000Z",
      "2021-11-07T07:10:00.000Z",
      true,
    ]);
    expect(resolve("2021-11-07 01:50:00", "2021-11-07 02:10:00", 4800)).toEqual([
      "2021-11-07T05:50:00.000Z",
      "2021-11-07T07:10:00.000Z",
      false,
    ]);
    expect(resolve("2021-11-07 01:10:00", "2021-11-07 01:20:00", 4200).slice(0, 2)).toEqual([
      "2021-11-07T05:10:00.000Z",
      "2021-11-07T06:20:00.000Z",
    ]);
  });

  it("takes the shortest trip that is none backwards where no duration is given, and else the first showing", () => {
    expect(resolve("2021-11-07 01:50:00", "2021-11-07 01:10:00").slice(0, 2)).toEqual([
      "2021-11-07T05:50:00.000Z",
      "2021-11-07T06:10:00.000Z",
    ]);
    expect(resolve("2021-11-07 01:10:00", "2021-11-07 01:50:00")).toEqual([
      "2021-11-07T05:10:00.000Z",
      "2021-11-07T05:50:00.000Z",
      false,
    ]);
    expect(resolve("2021-11-07 01:50:00", "2021-11-07 02:10:00")[0]).toBe("2021-11-07T06:50:00.000Z");
  });

  it("reads a time that was skipped so that the trip makes sense", () => {
    expect(resolve("2020-03-08 01:50:00", "2020-03-08 02:30:00")[1]).toBe("2020-03-08T07:30:00.000Z");
    expect(resolve("2020-03-08 02:30:00", "2020-03-08 03:10:00")[0]).toBe("2020-03-08T06:30:00.000Z");
    expect(resolve("2020-03-08 02:10:00", "2020-03-08 02:30:00", 1200).slice(0, 2)).toEqual([
      "2020-03-08T07:10:00.000Z",
      "2020-03-08T07:30:00.000Z",
    ]);
  });

  it("lets the end follow from the start when the clock was not moved during the trip", () => {
    // The local times differ by 3 h, the instants by the time zone by 2 h. The duration is 3 h.
    expect(resolve("2020-03-08 01:30:00", "2020-03-08 04:30:00", 10_800).slice(0, 2)).toEqual([
      "2020-03-08T06:30:00.000Z",
      "2020-03-08T09:30:00.000Z",
    ]);
    // The local times differ by 2 h, the instants by the time zone by 3 h. The duration is 2 h.
    expect(resolve("2021-11-07 00:30:00", "2021-11-07 02:30:00", 7200).slice(0, 2)).toEqual([
      "2021-11-07T04:30:00.000Z",
      "2021-11-07T06:30:00.000Z",
    ]);
  });

  it("leaves the times alone where a wrong duration has nothing to do with clocks", () => {
    expect(resolve("2020-03-08 01:30:00", "2020-03-08 04:30:00", 5).slice(0, 2)).toEqual([
      "2020-03-08T06:30:00.000Z",
      "2020-03-08T08:30:00.000Z",
    ]);
  });

  it("takes a time with its own offset as it is", () => {
    expect(resolve("2020-03-08 02:30:00+00:00", "2020-03-08 03:30:00+00:00", 3600).slice(0, 2)).toEqual([
      "2020-03-08T02:30:00.000Z",
      "2020-03-08T03:30:00.000Z",
    ]);
  });
});
