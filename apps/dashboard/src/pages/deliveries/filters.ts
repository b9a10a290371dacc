/** The filters of the list of deliveries, as the address of the page has them. */
import type { DeliveryFilters } from "@bikeshare/contract/console";
import { instantOf } from "../../components/instant-input.ts";
import { wallTime } from "../../components/time-zone.ts";
import { daysLater } from "../city/times.ts";

/** The parameters of the address that filter the list. The service knows them under the same names. */
const filterNames = ["status", "event", "code", "failure", "resource_id", "since", "until"] as const;
type FilterName = (typeof filterNames)[number];
/** The texts of the filters. Undefined or empty: the filter is not set. */
export type FilterTexts = Readonly<Partial<Record<FilterName, string>>>;

/** Returns the filters of an address. Unknown values are kept, so that the server reports the error. */
export function readFilters(search: URLSearchParams): FilterTexts {
  const given = filterNames.flatMap((name) => {
    const value = search.get(name);
    return value === null || value === "" ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}

/**
 * Returns the address's parameters with other filters. Removes the cursor, so that the list begins at its first page, and
 * keeps all other parameters.
 */
export function withFilters(search: URLSearchParams, filters: FilterTexts): URLSearchParams {
  const next = new URLSearchParams(search);
  next.delete("cursor");
  for (const name of filterNames) {
    const value = filters[name];
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
  }
  return next;
}

/** Returns the filters with the type that the client needs. */
export function queryOf(filters: FilterTexts): DeliveryFilters {
  return filters as DeliveryFilters; // texts from the address, which the server checks
}

/** A button that replaces all filters. */
export interface QuickFilter {
  readonly label: string;
  readonly filters: FilterTexts;
}

/** The start and end of the night in the filter of last night's deliveries, in the zone in which the page shows times. */
const EVENING = "18:00";
const MORNING = "08:00";

/** Returns the filters that have their own buttons above the list. */
export function quickFilters(now: Date): readonly QuickFilter[] {
  const today = wallTime(now).slice(0, 10);
  const night = { since: instantOf(`${daysLater(today, -1)}T${EVENING}`), until: instantOf(`${today}T${MORNING}`) };
  return [
    { label: "All", filters: {} },
    { label: "Failing now", filters: { status: "failing" } },
    { label: "Failed last night", filters: { status: "unsuccessful", ...night } },
    { label: "Given up", filters: { status: "failed" } },
    { label: "Held", filters: { status: "held" } },
  ];
}

/** Tells whether two sets of filters are the same. Undefined counts as empty. */
export function areSame(a: FilterTexts, b: FilterTexts): boolean {
  return filterNames.every((name) => (a[name] ?? "") === (b[name] ?? ""));
}
