import type { BoundingBox } from "@bikeshare/contract";

/** A condition on a row. `placeholder` adds a value to the statement and returns its `$n`. */
export type Condition = (placeholder: (value: unknown) => string) => string;

/** `column = value`; undefined where the filter is not given. */
export function equals(column: string, value: string | undefined): Condition | undefined {
  return value === undefined ? undefined : (placeholder) => `${column} = ${placeholder(value)}`;
}

/** Rows that changed at `since` (RFC 3339) or later; undefined where the filter is not given. */
export function updatedSince(since: string | undefined): Condition | undefined {
  return since === undefined ? undefined : (placeholder) => `updated_at >= ${placeholder(since)}::timestamptz`;
}

/** Locations in a rectangle of the map, borders included; undefined where the filter is not given. */
export function within(bbox: BoundingBox | undefined): Condition | undefined {
  if (bbox === undefined) return undefined;
  const { west, south, east, north } = bbox;
  return (placeholder) => {
    const [w, e] = [placeholder(west), placeholder(east)];
    // A rectangle across the antimeridian lies east of `west` or west of `east`.
    const longitude = west <= east ? `lon between ${w} and ${e}` : `(lon >= ${w} or lon <= ${e})`;
    return `lat between ${placeholder(south)} and ${placeholder(north)} and ${longitude}`;
  };
}
