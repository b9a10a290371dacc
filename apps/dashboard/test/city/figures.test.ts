import type { Glance } from "@bikeshare/contract/console";
import { h } from "preact";
import { expect, it } from "vitest";
import { Sparkline } from "../../src/components/sparkline.tsx";
import { tilesOf } from "../../src/pages/city/figures.tsx";
import { renderIn } from "../fake-document.ts";

const scope = { systemId: "main", partnerId: undefined, isFirstSystem: true, canChange: true };
const known = { available: 10, reserved: 1, on_trip: 2, disabled: 3, missing: 4 };
const none = { count: 0, data: [] };

/** Returns the figures of a city with this fleet, now and in each step of the last day. */
function tiles(...fleets: readonly [Glance["fleet"], ...Glance["fleet"][]]) {
  const day = { day: "2026-11-26", until_now: 0, whole_day: null };
  const glance: Glance = {
    at: "2026-11-26T08:00:00Z",
    time_zone: "UTC",
    fleet: fleets[0],
    stations: { online: 1, empty: none, full: none, offline: none },
    rides: {
      ...{ under_way: 0, under_way_long: 0, long_after_seconds: 7_200, today: day, before: [] },
      ...{ usual_until_now: null, summed_to: null },
    },
    recent: fleets.map((fleet) => ({
      ...{ from: "2026-11-26T07:45:00Z", to: "2026-11-26T08:00:00Z", stations: null, fleet },
      ...{ rides_started: null, rides_ended: null },
    })),
  };
  return tilesOf(glance, scope);
}

it("a number of bikes that is not known is a dash or a gap, and never 0", () => {
  const unknown = { ...known, reserved: null, missing: null };
  const [available, , unusable] = tiles(unknown, known, { ...known, disabled: null });
  expect(available).toMatchObject({ value: 10, note: "– reserved" });
  expect(unusable).toMatchObject({ value: null, note: "3 broken, – missing", values: [null, 7, null] });
});

it("the broken and the missing bikes are counted together where both numbers are known, also 0", () => {
  const zero = { ...known, reserved: 0, disabled: 0, missing: 0 };
  const [available, , unusable] = tiles(zero);
  expect(available?.note).toBe("0 reserved");
  expect(unusable).toMatchObject({ value: 0, note: "0 broken, 0 missing", values: [0] });
});

/** Returns the paths of a sparkline: its area and its line. */
function pathsOf(values: readonly (number | null)[]): readonly (string | null)[] {
  return renderIn(h(Sparkline, { values }))
    .querySelectorAll("path")
    .map((path) => path.getAttribute("d"));
}

it("a sparkline has a gap where values are not known", () => {
  expect(pathsOf([0, 1, 1])).toEqual(["M0 28L0 26L60 2L120 2L120 28Z", "M0 26L60 2L120 2"]);
  expect(pathsOf([1, 0, null, 0, 1])).toEqual([
    "M0 28L0 2L30 26L30 28ZM90 28L90 26L120 2L120 28Z",
    "M0 2L30 26M90 26L120 2",
  ]);
  expect(pathsOf([null, 1, null])).toEqual([]);
});
