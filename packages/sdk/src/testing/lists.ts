import type { ListEnvelope } from "../json-types.generated.ts";
import type { ChangeLog } from "./changes.ts";
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
  serviceError,
} from "./rules.ts";

/* The lists of a fake: filters, pages, cursors and checkpoints, as the service has them. */

/** A list as one caller sees it. */
export interface Listing<Item> {
  readonly name: string;
  /** The owner, if callers see different items. A cursor is only valid for the same owner. */
  readonly owner?: string;
  /** Returns the text by which an item is sorted; the id breaks ties. Default: items are sorted by id only. */
  readonly orderOf?: (item: Item) => string;
  readonly isNewestFirst?: boolean;
  /** The order of the items' changes, for a list that can be followed. */
  readonly changes?: ChangeLog;
  /** Returns all items of the list, in any order. It is called after the paging parameters were checked. */
  readonly items: () => readonly Item[];
}

/**
 * An item's position: its sort text and its id. A list that is read with `updated_since` ends with a checkpoint, from which
 * the caller can follow later changes. The checkpoint is taken at the first page; the cursors carry it to the last page.
 */
type Position = readonly [order: string, id: string, checkpoint?: number | null];

/**
 * A walk through the pages of `changes_since`: the position in the order of changes after which it continues, and the
 * position at which it ends.
 */
type ChangeWalk = readonly [after: number, upto: number];

/**
 * Returns one page of the items that pass a list's filters.
 *
 * @param query paging and filters
 * @throws ServiceError `invalid_parameter`, `invalid_cursor`, `page_out_of_range`
 */
export function pageOf<Item extends { readonly id: string }>(list: Listing<Item>, query: Values): ListEnvelope<Item> {
  const { name, owner = "", orderOf = () => "", isNewestFirst = false, changes } = list;
  if (changes !== undefined && query["changes_since"] !== undefined) return changesOf({ ...list, changes }, query);
  const { selection, scope, paging, limit } = readListQuery(list, query);
  const request = readPageRequest(paging, (text) => decodeCursor<Position>(scope, text));
  const compare = (a: Position, b: Position) =>
    (isNewestFirst ? -1 : 1) * (compareIds(a[0], b[0]) || compareIds(a[1], b[1]));
  const items = list.items();
  const entries = items
    .filter((item) => passesFilters(item, name, selection))
    .map((item) => ({ item, position: [orderOf(item), item.id] as const }))
    .filter(({ position }) => request.kind !== "cursor" || compare(position, request.after) > 0)
    .sort((a, b) => compare(a.position, b.position));
  const numbers = pageNumbers(request, entries.length);
  // After a cursor there is no page number, and `entries` already begins with the page.
  const begin = numbers === undefined ? 0 : (numbers.page - 1) * limit;
  const found = entries.slice(begin, begin + limit);
  const last = found.at(-1);
  const data = found.map(({ item }) => item);
  if (request.kind === "page") return { data, ...numbers };
  const takeCheckpoint = () =>
    selection["updated_since"] === undefined ? null : (changes?.observe(`${owner} ${name}`, items).newest ?? null);
  // The first page takes the checkpoint, and cursors carry it to the last page. Null: the list ends without one.
  const checkpoint = request.kind === "cursor" ? (request.after[2] ?? null) : takeCheckpoint();
  const hasNext = entries.length > limit && last !== undefined;
  return {
    data,
    ...numbers,
    ...(hasNext && { next_cursor: encodeCursor<Position>(scope, [...last.position, checkpoint]) }),
    ...(!hasNext &&
      checkpoint !== null && { checkpoint: encodeCursor(checkpointScope(list, selection), [checkpoint]) }),
  };
}

/** Returns one page of the items that have changed since a checkpoint. */
function changesOf<Item extends { readonly id: string }>(
  list: Listing<Item> & { readonly changes: ChangeLog },
  query: Values,
): ListEnvelope<Item> {
  const { name, owner = "", changes } = list;
  const { selection, scope, paging, limit } = readListQuery(list, query);
  if (paging.page !== undefined) throw serviceError("invalid_parameter", "changesByPage");
  if (selection["updated_since"] !== undefined) throw serviceError("invalid_parameter", "changesAndUpdatedSince");
  const request = readPageRequest(paging, (text) => decodeCursor<ChangeWalk>(scope, text));
  const since = decodeCursor<[number]>(checkpointScope(list, selection), String(selection["changes_since"]));
  if (since === undefined) throw serviceError("invalid_cursor", "checkpoint");
  const items = list.items();
  const { newest, positionOf } = changes.observe(`${owner} ${name}`, items);
  const [after, upto]: ChangeWalk = request.kind === "cursor" ? request.after : [since[0], newest];
  const entries = items
    .map((item) => ({ item, position: positionOf(item.id) }))
    .filter(({ item, position }) => position > after && position <= upto && passesFilters(item, name, selection))
    .sort((a, b) => a.position - b.position);
  const data = entries.slice(0, limit).map(({ item }) => item);
  /** The last entry of this page; undefined when the page is not full. */
  const last = entries[limit - 1];
  return entries.length > limit && last !== undefined
    ? { data, next_cursor: encodeCursor<ChangeWalk>(scope, [last.position, upto]) }
    : { data, checkpoint: encodeCursor(checkpointScope(list, selection), [upto]) };
}

/**
 * Splits the query of a list.
 *
 * @returns `selection`: the parameters that select items; `scope`: the list and its selection, in which a cursor is valid;
 *   `paging` and `limit`: the wanted page and its size
 */
function readListQuery({ name, owner = "" }: Pick<Listing<never>, "name" | "owner">, query: Values) {
  const { page, cursor, limit: wanted = DEFAULT_PAGE_SIZE, ...selection } = query;
  const limit = Math.min(Number(wanted), MAX_PAGE_SIZE);
  const paging = { page: page === undefined ? undefined : Number(page), limit, cursor: cursor?.toString() };
  return { selection, scope: cursorScope(owner, name, selection), paging, limit };
}

/** Returns the scope in which a checkpoint is valid: the list and its filters, without `updated_since`/`changes_since`. */
function checkpointScope({ name, owner = "" }: Pick<Listing<never>, "name" | "owner">, selection: Values): string {
  return cursorScope(owner, `changes of ${name}`, { ...selection, updated_since: undefined, changes_since: undefined });
}

/**
 * Returns a cursor: an encoded position with a checksum. The checksum rejects a damaged cursor, or one of another list. It
 * does not protect against forgery.
 *
 * @param scope the list and its filters
 */
export function encodeCursor<Value extends readonly unknown[]>(scope: string, position: Value): string {
  const text = encodeURIComponent(JSON.stringify(position));
  const checked = btoa(`${checksum(scope + text)} ${text}`);
  return checked.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the position in a cursor of this list; undefined for any other text. */
export function decodeCursor<Value extends readonly unknown[]>(scope: string, cursor: string): Value | undefined {
  try {
    const [, text = ""] = atob(cursor.replaceAll("-", "+").replaceAll("_", "/")).split(" ");
    // The type is only asserted: a position that was not encoded here gives another cursor when it is encoded again.
    const position = JSON.parse(decodeURIComponent(text)) as Value;
    return encodeCursor(scope, position) === cursor ? position : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a 32-bit hash (FNV-1a with a final mixing) as text, for cursors and ETags. It is not safe against attackers. */
export function checksum(text: string): string {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return ((value ^ (value >>> 13)) >>> 0).toString(36);
}

/** Tells whether an item passes all filters of a query. */
function passesFilters(item: object, list: string, query: Values): boolean {
  const filters: Readonly<Record<string, Readonly<Record<string, Filter>>>> = listFilters;
  return Object.entries(filters[list] ?? {}).every(([name, [comparison, ...fields]]) => {
    const value = query[name];
    if (value === undefined) return true;
    if (comparison === "within") return isWithin(item, String(value));
    return fields.some((field) => {
      const actual: unknown = Reflect.get(item, field);
      if (comparison === "equals") return actual === value;
      // The fields of `since` and `before` are never null, and the parameter is valid: no comparison is with NaN.
      const isSince = Date.parse(String(actual)) >= Date.parse(String(value));
      return comparison === "since" ? isSince : !isSince;
    });
  });
}

/** Tells whether an item is within a rectangle. An item without a location is in none. */
function isWithin({ lat, lon }: { readonly lat?: number | null; readonly lon?: number | null }, text: string): boolean {
  const box = readBoundingBox(text);
  if (typeof box === "string" || typeof lat !== "number" || typeof lon !== "number") return false;
  const { west, south, east, north } = box;
  const isInLongitude = west <= east ? lon >= west && lon <= east : lon >= west || lon <= east;
  return isInLongitude && lat >= south && lat <= north;
}
