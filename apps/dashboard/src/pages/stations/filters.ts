/** Reads and changes the filters and the order of the list of stations, which the page's address contains. */
import type { MappedStation } from "@bikeshare/contract/console";
import { lookUp } from "../../components/look-up.ts";
import { AVAILABILITIES, type Availability, availabilityOf } from "../../components/map/availability.ts";
import type { Sorting } from "../../components/table.tsx";

/** The filters and the order of the list, and its open page. */
export interface StationFilters {
  /** The search text: a part of the name or of the id. */
  readonly q: string;
  readonly availability: Availability | undefined;
  readonly sorting: Sorting;
  /** The page of the table, from 1. */
  readonly page: number;
}

/** Rows on each page of the table. */
export const PAGE_SIZE = 50;

const DEFAULT_SORTING: Sorting = { column: "name", direction: "ascending" };

/** Returns the filters of an address. Unknown values count as not given. */
export function readFilters(search: URLSearchParams): StationFilters {
  const availability = AVAILABILITIES.find((one) => one === search.get("availability"));
  const sort = search.get("sort") ?? "";
  const column = sort.replace(/^-/, "");
  return {
    q: search.get("q") ?? "",
    availability,
    sorting:
      lookUp(orders, column) === undefined
        ? DEFAULT_SORTING
        : { column, direction: sort.startsWith("-") ? "descending" : "ascending" },
    page: Math.max(1, Number.parseInt(search.get("page") ?? "1", 10) || 1),
  };
}

/**
 * Returns the address's parameters with changed filters. Unless the change names a page, the table returns to its first
 * page.
 */
export function withFilters(search: URLSearchParams, change: Partial<StationFilters>): URLSearchParams {
  const next = new URLSearchParams(search);
  const set = (name: string, value: string | undefined) => {
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  };
  // `in`, because a filter that is changed to undefined is removed, and one that the change does not name stays.
  if ("q" in change) set("q", change.q);
  if ("availability" in change) set("availability", change.availability);
  if (change.sorting !== undefined) {
    const { column, direction } = change.sorting;
    const isDefault = column === DEFAULT_SORTING.column && direction === DEFAULT_SORTING.direction;
    set("sort", isDefault ? undefined : `${direction === "descending" ? "-" : ""}${column}`);
  }
  set("page", change.page === undefined || change.page === 1 ? undefined : String(change.page));
  return next;
}

const byName = new Intl.Collator("en", { numeric: true });
type Order = (one: MappedStation, other: MappedStation) => number;
/** How each column sorts, ascending. Unknown values come first. */
const orders: Readonly<Record<string, Order>> = {
  name: (one, other) => byName.compare(one.name, other.name) || byName.compare(one.id, other.id),
  bikes: (one, other) => one.bikes - other.bikes,
  docks: (one, other) => (one.docks ?? -1) - (other.docks ?? -1),
  reported: (one, other) => (one.last_reported ?? "").localeCompare(other.last_reported ?? ""),
};

/** Returns the stations that match the filters, sorted. */
export function selectStations(stations: readonly MappedStation[], filters: StationFilters): readonly MappedStation[] {
  const text = filters.q.trim().toLowerCase();
  const order = lookUp(orders, filters.sorting.column);
  const sign = filters.sorting.direction === "descending" ? -1 : 1;
  return stations
    .filter(({ id, name }) => text === "" || name.toLowerCase().includes(text) || id.toLowerCase().includes(text))
    .filter((station) => filters.availability === undefined || availabilityOf(station) === filters.availability)
    .toSorted((one, other) => (order === undefined ? 0 : sign * order(one, other)));
}
