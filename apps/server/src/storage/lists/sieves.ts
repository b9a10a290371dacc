import type { BoundingBox } from "@bikeshare/contract";
import type { Filter } from "@bikeshare/rules";
import { millisecondsOf } from "../../iso-instant.ts";
import type { FilterValue, FilterValues } from "./conditions.ts";
import type { Codes, Sieve, SortedRows } from "./sorted-rows.ts";

/**
 * Returns the sieves of given filters: they pass the same rows as the conditions of `conditionsOf`.
 * @param given the values; without those for which the caller has other sieves
 */
export function sievesOf<Name extends string>(
  rows: SortedRows,
  filters: Readonly<Record<Name, Filter>>,
  given: FilterValues<NoInfer<Name>>,
): Sieve[] {
  const names = Object.keys(filters) as Name[]; // the keys are those of its type
  return names.flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [sieveOf(rows, filters[name], value)];
  });
}

function sieveOf(rows: SortedRows, [comparison, field, ...others]: Filter, value: FilterValue): Sieve {
  if (typeof value === "object") return within(rows, value);
  if (field === undefined || others.length > 0) throw new Error("a list in memory compares one field for each filter");
  switch (comparison) {
    case "equals":
      return equals(rows.texts(field), rows.code(field, value));
    case "since":
      return since(rows.numbers(field), millisecondsOf(value));
    case "before":
      return before(rows.numbers(field), millisecondsOf(value));
    case "within":
      throw new Error("a filter by a rectangle of the map has been given a string");
  }
}

/*
 * Each sieve has a separate loop without a branch: matching rows come in random order, so that the processor would
 * mispredict half of the branches.
 */

function equals(column: Codes, code: number): Sieve {
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      found[kept] = row;
      kept += Number(column[row] === code);
    }
    return kept;
  };
}

function since(column: Float64Array, bound: number): Sieve {
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      found[kept] = row;
      kept += Number((column[row] ?? Number.NaN) >= bound);
    }
    return kept;
  };
}

function before(column: Float64Array, bound: number): Sieve {
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      found[kept] = row;
      kept += Number((column[row] ?? Number.NaN) < bound);
    }
    return kept;
  };
}

/** Locations in a rectangle of the map, borders included. */
function within(rows: SortedRows, { west, south, east, north }: BoundingBox): Sieve {
  const [lats, lons] = [rows.numbers("lat"), rows.numbers("lon")];
  const isAcross = west > east;
  return (found, n) => {
    let kept = 0;
    for (let i = 0; i < n; i++) {
      const row = found[i] ?? 0;
      const [lat, lon] = [lats[row] ?? Number.NaN, lons[row] ?? Number.NaN];
      found[kept] = row;
      // A rectangle across the antimeridian lies east of `west` or west of `east`.
      const isBetween = isAcross ? lon >= west || lon <= east : lon >= west && lon <= east;
      kept += Number(lat >= south && lat <= north && isBetween);
    }
    return kept;
  };
}
