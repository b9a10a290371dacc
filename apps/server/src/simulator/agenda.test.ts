import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createAgenda } from "./agenda.ts";

fc.configureGlobal({ seed: 1 });

describe("an agenda", () => {
  it("does what is due in the order of its moments, what is for one moment in the order in which it was added", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20)), fc.nat(20), (moments, until) => {
        const agenda = createAgenda();
        const done: [number, number][] = [];
        for (const [order, moment] of moments.entries()) agenda.at(moment, () => done.push([moment, order]));
        const all = moments.map((moment, order): [number, number] => [moment, order]);
        const sorted = all.sort(([a, m], [b, n]) => a - b || m - n);
        agenda.runUntil(until);
        expect(done).toEqual(sorted.filter(([moment]) => moment <= until));
        agenda.runUntil(20);
        expect(done).toEqual(sorted);
      }),
    );
  });

  it("does at once what is added for a moment that is due while it runs, and later what is not", () => {
    const agenda = createAgenda();
    const done: string[] = [];
    agenda.at(1, () => {
      agenda.at(2, () => done.push("due"));
      agenda.at(9, () => done.push("later"));
    });
    agenda.runUntil(5);
    expect(done).toEqual(["due"]);
    agenda.runUntil(9);
    expect(done).toEqual(["due", "later"]);
  });
});
