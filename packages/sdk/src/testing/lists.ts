import type { ListEnvelope } from "../json-types.generated.ts";
import type { Values } from "./parameters.ts";
import {
  compareIds,
  cursorScope,
  DEFAULT_PAGE_SIZE,
  type Filter,
  listFilters,
  MAX_PAGE_SIZE,
  pageNumbers,
  readBoundingBox,
  readPageRequest,
} from "./rules.ts";

/** A list as one caller sees it. */
export interface Listing<Item> {
  readonly name: string;
  /** Whose it is, where callers see different items: cursors of one are no use to another. */
  readonly owner?: string;
  /** What the list is ordered by before the id, which breaks ties; the id alone if not said. */
  readonly orderOf?: (item: Item) => string;
  readonly isNewestFirst?: boolean;
  /** All that may be on it, in any order. Asked for after the paging parameters were read. */
  readonly items: () => readonly Item[];
}

/** Where an item is in its list: what the list is ordered by, and its id. */
type Position = readonly [order: string, id: string];

/**
 * One page of what passes the filters of a list.
 *
 * @param query paging and filters
 * @throws ServiceError `invalid_parameter`, `invalid_cursor`, `page_out_of_range`
 */
export function pageOf<Item extends { readonly id: string }>(list: Listing<Item>, query: Values): ListEnvelope<Item> {
  const { name, owner = "", orderOf = () => "", isNewestFirst = false } = list;
  const { page, cursor, limit: wanted = DEFAULT_PAGE_SIZE, ...selection } = query;
  const limit = Math.min(Number(wanted), MAX_PAGE_SIZE);
  const scope = cursorScope(owner, name, selection);
  const paging = { page: page === undefined ? undefined : Number(page), limit, cursor: cursor?.toString() };
  const request = readPageRequest(paging, (text) => decodeCursor(scope, text));
  const compare = (a: Position, b: Position) =>
    (isNewestFirst ? -1 : 1) * (compareIds(a[0], b[0]) || compareIds(a[1], b[1]));
  const entries = list
    .items()
    .filter((item) => passesFilters(item, name, selection))
    .map((item) => ({ item, position: [orderOf(item), item.id] as const }))
    .filter(({ position }) => request.kind !== "cursor" || compare(position, request.after) > 0)
    .sort((a, b) => compare(a.position, b.position));
  const numbers = pageNumbers(request, entries.length);
  const found = entries.slice(((numbers?.page ?? 1) - 1) * limit).slice(0, limit);
  const last = found.at(-1);
  const hasNext = request.kind !== "page" && entries.length > limit && last !== undefined;
  return {
    data: found.map(({ item }) => item),
    ...numbers,
    ...(hasNext && { next_cursor: encodeCursor(scope, last.position) }),
  };
}

/**
 * A position in a list, encoded and with a checksum. It holds no secret, so whoever tries can read or forge one; a damaged
 * cursor, or one of another list, is rejected.
 *
 * @param scope the list and its filters
 */
function encodeCursor(scope: string, position: Position): string {
  const text = encodeURIComponent(JSON.stringify(position));
  const signed = btoa(`${checksum(scope + text)} ${text}`);
  return signed.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The position that a cursor of this very list holds; undefined for any other text. */
function decodeCursor(scope: string, cursor: string): Position | undefined {
  try {
    const [, text = ""] = atob(cursor.replaceAll("-", "+").replaceAll("_", "/")).split(" ");
    const position = JSON.parse(decodeURIComponent(text)) as Position; // If it is one of ours, its text is the same.
    return encodeCursor(scope, position) === cursor ? position : undefined;
  } catch {
    return undefined;
  }
}

/** 32 bits (FNV-1a, with a last mixing) as text: weak, for what need not withstand an attacker. */
export function checksum(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return ((value ^ (value >>> 13)) >>> 0).toString(36);
}

/** Whether an item passes every filter of its list that a query gives. */
function passesFilters(item: object, list: string, query: Values): boolean {
  const filters: Readonly<Record<string, Readonly<Record<string, Filter>>>> = listFilters;
  return Object.entries(filters[list] ?? {}).every(([name, [comparison, ...fields]]) => {
    const value = query[name];
    if (value === undefined) return true;
    if (comparison === "within") return isWithin(item, String(value));
    return fields.some((field) => {
      const actual: unknown = Reflect.get(item, field);
      if (comparison === "equals") return actual === value;
      const isSince = Date.parse(String(actual)) >= Date.parse(String(value));
      return comparison === "since" ? isSince : !isSince;
    });
  });
}

/** What has no location is in no rectangle. */
function isWithin({ lat, lon }: { readonly lat?: number | null; readonly lon?: number | null }, text: string): boolean {
  const box = readBoundingBox(text);
  if (typeof box === "string" || typeof lat !== "number" || typeof lon !== "number") return false;
  const { west, south, east, north } = box;
  const isInLongitude = west <= east ? lon >= west && lon <= east : lon >= west || lon <= east;
  return isInLongitude && lat >= south && lat <= north;
}
