import { MAX_PAGE_SIZE } from "../routes.generated.ts";
import type { ListEnvelope } from "../wire.generated.ts";
import { Refused } from "./answer.ts";
import { DEFAULT_PAGE_SIZE } from "./contract.generated.ts";
import { openCursor, sealCursor } from "./cursor.ts";
import { compareKeys, type Key } from "./order.ts";
import type { Values } from "./parameters.ts";

/** A list as one caller sees it. */
export interface Listing<Item> {
  /** Its name and whose it is: cursors of one are no use to another. */
  readonly name: string;
  readonly keyOf: (item: Item) => Key;
  readonly isNewestFirst: boolean;
  /** Those that pass the filters, in any order. Asked for after the paging parameters were read. */
  readonly items: (isWalk: boolean) => readonly Item[];
}

/**
 * One page of a list.
 *
 * @param values the query: paging and filters
 * @throws Refused `invalid_parameter`, `invalid_cursor`, `page_out_of_range`
 */
export function pageOf<Item>(listing: Listing<Item>, values: Values): ListEnvelope<Item> {
  const { page, cursor, limit: wanted = DEFAULT_PAGE_SIZE, ...filters } = values;
  const limit = Math.min(Number(wanted), MAX_PAGE_SIZE);
  const name = `${listing.name}\n${JSON.stringify(Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
  const after = cursor === undefined ? undefined : placeIn(name, String(cursor), page);
  const direction = listing.isNewestFirst ? -1 : 1;
  const compare = (a: Key, b: Key) => direction * compareKeys(a, b);
  const entries = listing
    .items(after !== undefined)
    .map((item) => ({ item, key: listing.keyOf(item) }))
    .sort((a, b) => compare(a.key, b.key));
  const next = (end: number, last: Key | undefined) =>
    end < entries.length && last !== undefined ? { next_cursor: sealCursor(name, last) } : {};

  if (after !== undefined) {
    const begin = entries.findIndex(({ key }) => compare(key, after) > 0);
    const found = begin < 0 ? [] : entries.slice(begin, begin + limit);
    return { data: found.map(({ item }) => item), ...next(begin + limit, found.at(-1)?.key) };
  }
  const number = page === undefined ? 1 : Number(page);
  const total = Math.max(1, Math.ceil(entries.length / limit));
  if (number > total) {
    throw new Refused(
      "page_out_of_range",
      `page is ${number}, but the last page is ${total} with a limit of ${limit}.`,
    );
  }
  const found = entries.slice((number - 1) * limit, number * limit);
  return {
    data: found.map(({ item }) => item),
    page: number,
    total_pages: total,
    ...(page === undefined ? next(limit, found.at(-1)?.key) : {}),
  };
}

function placeIn(name: string, cursor: string, page: string | number | undefined): Key {
  if (page !== undefined) {
    throw new Refused("invalid_parameter", "page and cursor exclude each other: give one of them.");
  }
  if (cursor === "") {
    throw new Refused(
      "invalid_cursor",
      "cursor is empty. The list ended where next_cursor was absent; to begin again, leave cursor out.",
    );
  }
  const place = openCursor(name, cursor);
  if (place !== undefined) return place;
  throw new Refused(
    "invalid_cursor",
    "cursor is damaged, not ours, or was given for another list or other filters. Copy next_cursor unchanged and keep the filters, or begin again without it.",
  );
}
