import type { BoundingBox } from "@bikeshare/contract";
import type { Filter } from "@bikeshare/rules";
import { millisecondsOf } from "../../iso-instant.ts";
import type { Codes, Sieve, SortedRows } from "./sorted-rows.ts";

/*
 * The filters of a list: as conditions in SQL, and as sieves, which keep the matching ones of some rows in memory
 * (sorted-rows.ts).
 */

/** A condition on a row. `placeholder` adds a value to the statement and returns its `$n`. */
export type Condition = (placeholder: (value: unknown) => string) => string;

/** The value of a filter, as the contract has parsed it. */
type FilterValue = string | BoundingBox;

/** The values of the filters that are given. */
export type FilterValues<Name extends string> = Readonly<Partial<Record<Name, FilterValue | undefined>>>;

/**
 * Returns the conditions of given filters. Each field of a filter is a column of the list's table.
 * @param filters the filter of each parameter of the list
 * @param given the values of the filters, without the filters for which the caller makes its own conditions
 */
export function conditionsOf<Name extends string>(
  filters: Readonly<Record<Name, Filter>>,
  given: FilterValues<NoInfer<Name>>,
): Condition[] {
  const names = Object.keys(filters) as Name[]; // the object has exactly the keys of its type
  return names.flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [conditionOf(filters[name], value)];
  });
}

function conditionOf([comparison, ...columns]: Filter, value: FilterValue): Condition {
  if (typeof value === "object") return within(value);
  const test = comparisons[comparison];
  return (placeholder) => {
    const alternatives = columns.map((column) => test(column, placeholder(value)));
    return alternatives.length === 1 ? alternatives.join("") : `(${alternatives.join(" or ")})`;
  };
}

const comparisons: Readonly<Record<Filter[0], (column: string, value: string) => string>> = {
  equals: (column, value) => `${column} = ${value}`,
  since: (column, value) => `${column} >= ${value}::timestamptz`,
  before: (column, value) => `${column} < ${value}::timestamptz`,
  within: () => {
    throw new Error("a filter by a rectangle of the map has been given a string");
  },
};

/** Locations in a rectangle of the map, borders included. */
function within({ west, south, east, north }: BoundingBox): Condition {
  return (placeholder) => {
    const [w, e] = [placeholder(west), placeholder(east)];
    // A rectangle across the antimeridian lies east of `west` or west of `east`.
    const longitude = west <= east ? `lon between ${w} and ${e}` : `(lon >= ${w} or lon <= ${e})`;
    return `lat between ${placeholder(south)} and ${placeholder(north)} and ${longitude}`;
  };
}

/**
 * Returns the sieves of given filters: they pass the same rows as the conditions of `conditionsOf`.
 * @param given the values of the filters, without the filters for which the caller makes its own sieves
 */
export function sievesOf<Name extends string>(
  rows: SortedRows,
  filters: Readonly<Record<Name, Filter>>,
  given: FilterValues<NoInfer<Name>>,
): Sieve[] {
  const names = Object.keys(filters) as Name[]; // the object has exactly the keys of its type
  return names.flatMap((name) => {
    const value = given[name];
    return value === undefined ? [] : [sieveOf(rows, filters[name], value)];
  });
}

function sieveOf(rows: SortedRows, [comparison, field, ...others]: Filter, value: FilterValue): Sieve {
  if (typeof value === "object") return withinBox(rows, value);
  if (field === undefined || others.length > 0) throw new Error("a list in memory compares one field for each filter");
  switch (comparison) {
    case "equals":
      // The code of a text that no row has is -1, which equals no code.
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
 * A sieve moves the matching ones of the first `n` rows in `found` to the front, and returns how many they are. Each sieve
 * has a separate loop without a branch: it writes every row to the next free place, and counts the place only if the row
 * matches. Matching rows come in random order, so that the processor would mispredict half of the branches. A number that is
 * missing is NaN: no comparison accepts it, as none accepts null in SQL.
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
function withinBox(rows: SortedRows, { west, south, east, north }: BoundingBox): Sieve {
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
