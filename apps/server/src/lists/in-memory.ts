import { compareIds } from "@bikeshare/rules";
import type { Slice, SliceRequest } from "./slice.ts";
import { startOf } from "./slice.ts";

interface Identified {
  readonly id: string;
}

/** Puts things into the order in which lists by id go: that of their bytes, as the database's. */
export function sortById<Item extends Identified>(items: Iterable<Item>): Item[] {
  return [...items].sort((a, b) => compareIds(a.id, b.id));
}

/** A slice of a list that is short enough to be made whole. @param items in the order of `sortById` */
export function cutItems<Item extends Identified>(
  items: readonly Item[],
  request: SliceRequest<string>,
): Slice<string> {
  const start = startOf(request);
  const begin = "skip" in start ? start.skip : items.filter(({ id }) => compareIds(id, start.after) <= 0).length;
  const found = items.slice(begin, begin + request.limit);
  return {
    items: found.map((item) => JSON.stringify(item)).join(","),
    next: begin + request.limit < items.length ? found.at(-1)?.id : undefined,
    total: request.kind === "cursor" ? undefined : items.length,
  };
}
