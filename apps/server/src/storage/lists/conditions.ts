import type { BoundingBox } from "@bikeshare/contract";
import type { Filter } from "@bikeshare/rules";

/** A condition on a row. `placeholder` adds a value to the statement and returns its `$n`. */
export type Condition = (placeholder: (value: unknown) => string) => string;

/** The value of a filter, as the contract has read it. */
export type FilterValue = string | BoundingBox;

/** The values of the filters that are given. */
export type FilterValues<Name extends string> = Readonly<Partial<Record<Name, FilterValue | undefined>>>;

/**
 * Returns the conditions of given filters. Each field of a filter is a column of the list's table.
 * @param filters the filter of each parameter of the list
 * @param given the values; without those for which the caller has other conditions
 */
export function conditionsOf<Name extends string>(
  filters: Readonly<Record<Name, Filter>>,
  given: FilterValues<NoInfer<Name>>,
): Condition[] {
  const names = Object.keys(filters) as Name[]; // the keys are those of its type
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
