import { cutRows, type ListRows } from "./rows.ts";
import type { Slice, SliceRequest } from "./slice.ts";

/**
 * Cuts the slice that was asked for from the rows that were fetched.
 * @param positionOf reads the position of an item from its JSON
 */
export function cutSlice<Position>(
  request: SliceRequest<Position>,
  { rows, total }: ListRows,
  positionOf: (json: string) => Position,
): Slice<Position> {
  const { items, lastOfMore } = cutRows(rows, request.limit);
  return {
    items,
    next: lastOfMore === undefined ? undefined : positionOf(lastOfMore),
    total: request.kind === "cursor" ? undefined : (total ?? 0),
  };
}

/** One text field of an item's JSON. */
export function jsonField(json: string, field: string): string {
  const item: unknown = JSON.parse(json);
  const value: unknown = typeof item === "object" && item !== null ? Reflect.get(item, field) : undefined;
  if (typeof value !== "string") throw new Error(`an item's JSON has no ${field}`);
  return value;
}
