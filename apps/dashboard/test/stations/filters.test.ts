import type { MappedStation } from "@bikeshare/contract/console";
import { expect, it } from "vitest";
import { availabilityOf, closedReason } from "../../src/components/map/availability.ts";
import { readFilters, selectStations, withFilters } from "../../src/pages/stations/filters.ts";

function station(id: string, differences: Partial<MappedStation> = {}): MappedStation {
  return {
    id,
    name: `Station ${id}`,
    lat: 48,
    lon: 16,
    capacity: 20,
    region_id: null,
    bikes: 8,
    docks: 12,
    is_renting: true,
    is_returning: true,
    status: "online",
    offline_reason: null,
    last_reported: "2026-11-22T09:00:00.000Z",
    ...differences,
  };
}

it.each([
  [{}, "bikes"],
  [{ bikes: 2 }, "few"],
  [{ bikes: 0 }, "empty"],
  [{ is_renting: false }, "empty"],
  [{ docks: 0 }, "full"],
  [{ docks: null }, "bikes"],
  [{ status: "offline" as const, bikes: 0 }, "closed"],
])("a station with %j is one with availability %s", (differences, availability) => {
  expect(availabilityOf(station("1", differences))).toBe(availability);
});

it("a station that is closed says why, also when it was removed for good", () => {
  const reasonOf = (differences: Partial<MappedStation>) => closedReason(station("1", differences));
  expect(reasonOf({ status: "offline", offline_reason: "stale" })).toBe("has not reported for too long");
  expect(reasonOf({ status: "planned" })).toBe("planned");
  expect(reasonOf({ status: "removed" })).toBe("removed");
  expect(reasonOf({})).toBeUndefined();
});

it("filters that are written into an address are read back from it", () => {
  const filters = {
    q: "mill",
    availability: "empty",
    sorting: { column: "bikes", direction: "descending" },
    page: 3,
  } as const;
  const written = withFilters(new URLSearchParams("system=vienna&q=old"), filters);
  expect(written.toString()).toBe("system=vienna&q=mill&availability=empty&sort=-bikes&page=3");
  expect(readFilters(written)).toEqual(filters);
});

it("what an address cannot mean is left out", () => {
  expect(readFilters(new URLSearchParams("availability=none&sort=colour&page=-4"))).toEqual({
    q: "",
    availability: undefined,
    sorting: { column: "name", direction: "ascending" },
    page: 1,
  });
});

it.each(["__proto__", "toString", "constructor"])("an order by %s, which every object inherits, is none", (name) => {
  const stations = [station("10"), station("9")];
  const filters = readFilters(new URLSearchParams({ sort: `-${name}` }));
  expect(filters.sorting).toEqual({ column: "name", direction: "ascending" });
  const sorting = { column: name, direction: "ascending" } as const;
  expect(selectStations(stations, { ...filters, sorting }).map(({ id }) => id)).toEqual(["10", "9"]);
});

it("another filter begins at the first page", () => {
  expect(withFilters(new URLSearchParams("page=4"), { q: "a" }).toString()).toBe("q=a");
});

it("stations are found by name and by id, and ordered as people count", () => {
  const stations = [station("10"), station("9"), station("mill-2", { name: "Old Mill" })];
  const ids = (search: string) =>
    selectStations(stations, readFilters(new URLSearchParams(search))).map(({ id }) => id);
  expect(ids("")).toEqual(["mill-2", "9", "10"]);
  expect(ids("q=MILL")).toEqual(["mill-2"]);
  expect(ids("q=mill-2&availability=empty")).toEqual([]);
});
