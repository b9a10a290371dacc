import { describe, expect, it } from "vitest";
import { openTimeZone, UnknownTimeZone } from "./trip-times.rules.ts";

const local = (text: string) => Date.parse(`${text}Z`);
const utc = (instants: readonly number[]) => instants.map((instant) => new Date(instant).toISOString());

describe("openTimeZone", () => {
  it("gives an ordinary local time its one instant, on both sides of a change", () => {
    const zone = openTimeZone("America/New_York");
    expect(utc(zone.instants(local("2021-01-01T00:03:35.510")))).toEqual(["2021-01-01T05:03:35.510Z"]);
    expect(utc(zone.instants(local("2021-07-01T00:00:00")))).toEqual(["2021-07-01T04:00:00.000Z"]);
    expect(utc(zone.instants(local("2020-12-31T23:59:59")))).toEqual(["2021-01-01T04:59:59.000Z"]);
  });

  it("gives both instants of a time that was shown twice, the earlier first", () => {
    const zone = openTimeZone("America/New_York");
    expect(utc(zone.instants(local("2021-11-07T01:30:00")))).toEqual([
      "2021-11-07T05:30:00.000Z",
      "2021-11-07T06:30:00.000Z",
    ]);
    expect(utc(zone.instants(local("2021-11-07T00:59:59.999")))).toEqual(["2021-11-07T04:59:59.999Z"]);
    expect(utc(zone.instants(local("2021-11-07T02:00:00")))).toEqual(["2021-11-07T07:00:00.000Z"]);
  });

  it("gives both readings of a time that was skipped, the clock that was not moved first", () => {
    const zone = openTimeZone("America/New_York");
    expect(utc(zone.instants(local("2020-03-08T02:30:00")))).toEqual([
      "2020-03-08T07:30:00.000Z",
      "2020-03-08T06:30:00.000Z",
    ]);
    expect(utc(zone.instants(local("2020-03-08T01:59:59.999")))).toEqual(["2020-03-08T06:59:59.999Z"]);
    expect(utc(zone.instants(local("2020-03-08T03:00:00")))).toEqual(["2020-03-08T07:00:00.000Z"]);
  });

  it("knows changes of half an hour, two changes a month apart, and zones without any", () => {
    expect(openTimeZone("Australia/Lord_Howe").instants(local("2024-04-07T01:45:00"))).toHaveLength(2);
    expect(openTimeZone("Africa/Casablanca").instants(local("2023-03-19T02:30:00"))).toHaveLength(2);
    expect(utc(openTimeZone("Asia/Kolkata").instants(local("2024-01-01T05:30:00")))).toEqual([
      "2024-01-01T00:00:00.000Z",
    ]);
    expect(openTimeZone("UTC").instants(0)).toEqual([0]);
  });

  it("gives, whatever was asked before, only instants at which Intl shows that local time", () => {
    for (const name of ["America/New_York", "Europe/Oslo", "Australia/Lord_Howe", "America/Sao_Paulo"]) {
      const zone = openTimeZone(name);
      const clock = new Intl.DateTimeFormat("sv-SE", { timeZone: name, dateStyle: "short", timeStyle: "medium" });
      // The step of 7,919 minutes is a prime number, so that the instants cover all hours of the day and of the year.
      for (let step = 0; step < 700; step++) {
        const instant = Date.UTC(2017, 0, 1) + step * 7_919 * 60_000;
        const shown = Date.parse(`${clock.format(instant).replace(" ", "T")}Z`);
        expect(zone.instants(shown), `${name} ${new Date(instant).toISOString()}`).toContain(instant);
      }
    }
  });

  it("refuses a name that is not a zone, and says what a name looks like", () => {
    expect(() => openTimeZone("New York")).toThrow(UnknownTimeZone);
    expect(() => openTimeZone("New York")).toThrow(/America\/New_York/);
  });
});
