import { afterAll, expect, it } from "vitest";
import { setTimeZone } from "../../src/components/time-zone.ts";
import { quickFilters } from "../../src/pages/deliveries/filters.ts";

afterAll(() => setTimeZone(undefined));

it.each([
  ["Europe/Berlin", "2026-11-24T17:00:00.000Z", "2026-11-25T07:00:00.000Z"],
  ["America/New_York", "2026-11-23T23:00:00.000Z", "2026-11-24T13:00:00.000Z"],
  ["Pacific/Apia", "2026-11-24T05:00:00.000Z", "2026-11-24T19:00:00.000Z"],
])("in %s, last night is that of the zone in which the page shows times", (zone, since, until) => {
  setTimeZone(zone);
  const night = quickFilters(new Date("2026-11-25T04:30:00Z")).find(({ label }) => label === "Failed last night");
  expect(night?.filters).toMatchObject({ since, until });
});
