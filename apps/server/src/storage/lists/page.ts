import { compareIds, type PageRequest } from "@bikeshare/rules";

/*
 * Pages of lists: where a requested page starts, how a statement returns its rows as one text, how the page is made from
 * them, and the texts of positions, which cursors contain.
 */

/** A page of a list. */
export interface Page<Position> {
  /** The items' JSON texts, with commas between. */
  readonly items: string;
  /** Position of the last item; undefined when none follow. */
  readonly next: Position | undefined;
  /** Items in the whole list; undefined when the page was asked for by cursor. */
  readonly total: number | undefined;
  /** The position in the list's changes from which a caller can follow the list, if the list returns one. */
  readonly checkpoint?: string | undefined;
}

/** The conversion of an item's position to and from a text, which may be a cursor. */
export interface PositionCodec<Position> {
  encode(position: Position): string;
  /** Undefined when the text is not a position in this list. */
  decode(text: string): Position | undefined;
}

/** The start of a page's rows: after a position, or after a number of rows, which requires the list's length too. */
export type PageStart<Position> = { readonly after: Position } | { readonly skip: number };

/** Returns the start of a requested page's rows. */
export function startOf<Position>(request: PageRequest<Position>): PageStart<Position> {
  switch (request.kind) {
    case "cursor":
      return { after: request.after };
    case "first":
      return { skip: 0 };
    case "page":
      // Above 2^53 numbers are not exact. No list is that long, so the response is the same.
      return { skip: Math.min((request.page - 1) * request.limit, Number.MAX_SAFE_INTEGER) };
  }
}

/**
 * The database returns the rows of a page as one text: the JSON of each row, with this separator between two rows.
 * JSON escapes line ends inside strings, so an unescaped line end is always part of a separator.
 */
const ROW_SEPARATOR = ",\n";

/** Rows to fetch: one more than 50 or 200 that are shown. Only two sizes, so that a connection prepares few statements. */
const FETCH_SIZES = [51, 201] as const;
export type FetchSize = (typeof FETCH_SIZES)[number];

/** Returns the number of rows to fetch for a page of `limit` items, so that it is known whether more follow. */
export function fetchSize(limit: number): FetchSize {
  return limit < FETCH_SIZES[0] ? FETCH_SIZES[0] : FETCH_SIZES[1];
}

/** The result of a list's statement: the rows' JSON as one text (null: no rows), and the list's length if requested. */
export interface PageRows {
  readonly rows: string | null;
  readonly total: number | null;
}

/** SQL that joins the `json` column of a query into one string, `rows`. */
export function joinRows(query: string): string {
  return `select string_agg(json, E'${ROW_SEPARATOR.replace("\n", "\\n")}') as rows from (${query}) as page`;
}

/** Changes each row in a text of joined rows. */
export function mapRows(rows: string | null, change: (row: string) => string): string | null {
  return rows === null ? null : rows.split(ROW_SEPARATOR).map(change).join(ROW_SEPARATOR);
}

/** Returns the first `limit` of joined rows. `lastOfMore` is the last of them if more rows follow; undefined: none follow. */
export function splitRows(text: string | null, limit: number): { items: string; lastOfMore: string | undefined } {
  if (text === null) return { items: "", lastOfMore: undefined };
  let end = -1;
  let start = 0;
  for (let row = 0; row < limit; row++) {
    start = end + 1;
    end = text.indexOf("\n", start);
    if (end === -1) return { items: text, lastOfMore: undefined };
  }
  // `end` is at the separator's line end; the separator's comma is before it.
  return { items: text.slice(0, end - 1), lastOfMore: text.slice(start, end - 1) };
}

/**
 * Makes the requested page from the fetched rows.
 * @param positionOf reads the position of an item from its JSON
 */
export function toPage<Position>(
  request: PageRequest<Position>,
  { rows, total }: PageRows,
  positionOf: (json: string) => Position,
): Page<Position> {
  const { items, lastOfMore } = splitRows(rows, request.limit);
  return {
    items,
    next: lastOfMore === undefined ? undefined : positionOf(lastOfMore),
    total: request.kind === "cursor" ? undefined : (total ?? 0),
  };
}

/** The position of an item in a list that is ordered by a time (RFC 3339, to the millisecond) and then by id. */
export interface TimePosition {
  readonly at: string;
  readonly id: string;
}

const TIME_POSITION = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z) (.+)$/s;

/** The text of a position by time and id: the time, a space and the id. */
export const timePosition: PositionCodec<TimePosition> = {
  encode: ({ at, id }) => `${at} ${id}`,
  decode(text) {
    const [, at, id] = TIME_POSITION.exec(text) ?? [];
    return at === undefined || id === undefined ? undefined : { at, id };
  },
};

/** The position of items that are ordered by id. */
export const idPosition: PositionCodec<string> = {
  encode: (id) => id,
  decode: (text) => (text === "" ? undefined : text),
};

/** One string field of an item's JSON. */
export function jsonField(json: string, field: string): string {
  return stringOf(JSON.parse(json), field);
}

/** Returns the position of an item in a list that is ordered by one of its times. */
export function timePositionOf(json: string, timeField: string): TimePosition {
  const item: unknown = JSON.parse(json);
  return { at: stringOf(item, timeField), id: stringOf(item, "id") };
}

function stringOf(item: unknown, field: string): string {
  const value: unknown = typeof item === "object" && item !== null ? Reflect.get(item, field) : undefined;
  if (typeof value !== "string") throw new Error(`an item's JSON has no ${field}`);
  return value;
}

interface Identified {
  readonly id: string;
}

/** Sorts items by the bytes of their ids, as the database orders lists. */
export function sortById<Item extends Identified>(items: Iterable<Item>): Item[] {
  return [...items].sort((a, b) => compareIds(a.id, b.id));
}

/** Returns a page of a list that is short enough to be kept in memory. @param items in the order of `sortById` */
export function pageOfItems<Item extends Identified>(
  items: readonly Item[],
  request: PageRequest<string>,
): Page<string> {
  const start = startOf(request);
  const begin = "skip" in start ? start.skip : items.filter(({ id }) => compareIds(id, start.after) <= 0).length;
  const found = items.slice(begin, begin + request.limit);
  return {
    items: found.map((item) => JSON.stringify(item)).join(","),
    next: begin + request.limit < items.length ? found.at(-1)?.id : undefined,
    total: request.kind === "cursor" ? undefined : items.length,
  };
}
