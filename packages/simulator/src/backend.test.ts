import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSchedule } from "./backend.ts";

fc.configureGlobal({ seed: 1 });

describe("a schedule", () => {
  it("does what is due in the order of its times, what is for one time in the order in which it was added", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), fc.nat(20), (times, until) => {
        const schedule = createSchedule();
        const done: [number, number][] = [];
        for (const [order, time] of times.entries()) schedule.at(time, () => done.push([time, order]));
        const all = times.map((time, order): [number, number] => [time, order]);
        const sorted = all.sort(([a, m], [b, n]) => a - b || m - n);
        schedule.runUntil(until);
        expect(done).toEqual(sorted.filter(([time]) => time <= until));
        schedule.runUntil(20);
        expect(done).toEqual(sorted);
      }),
    );
  });

  it("does at once what is added for a time that is due while it runs, and later what is not", () => {
    const schedule = createSchedule();
    const done: string[] = [];
    schedule.at(1, () => {
      schedule.at(2, () => done.push("due"));
      schedule.at(9, () => done.push("later"));
    });
    schedule.runUntil(5);
    expect(done).toEqual(["due"]);
    schedule.runUntil(9);
    expect(done).toEqual(["due", "later"]);
  });
});
