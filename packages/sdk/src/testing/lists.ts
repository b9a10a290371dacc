import type { ListEnvelope } from "../wire.generated.ts";
import { serviceError } from "./errors.ts";
import type { Values } from "./parameters.ts";
import { compareIds, countPages, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from "./rules.ts";

/** Where an item is in its list: what the list is ordered by, and its id, which breaks ties. */
type Position = readonly [value: string, id: string];

/** A list as one caller sees it. */
export interface Listing<Item> {
  /** Its name and whose it is: cursors of one are no use to another. */
  readonly name: string;
  readonly positionOf: (item: Item) => Position;
  readonly isNewestFirst: boolean;
  /** Those that pass the filters, in any order. Asked for after the paging parameters were read. */
  readonly items: (isContinued: boolean) => readonly Item[];
}

/**
 * One page of a list.
 *
 * @param query paging and filters
 * @throws ServiceError `invalid_parameter`, `invalid_cursor`, `page_out_of_range`
 */
export function pageOf<Item>(listing: Listing<Item>, query: Values): ListEnvelope<Item> {
  const { page, cursor, limit: wanted = DEFAULT_PAGE_SIZE, ...filters } = query;
  const limit = Math.min(Number(wanted), MAX_PAGE_SIZE);
  const name = `${listing.name}\n${JSON.stringify(Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1)))}`;
  const after = cursor === undefined ? undefined : readCursor(name, String(cursor), page);
  const direction = listing.isNewestFirst ? -1 : 1;
  const compare = (a: Position, b: Position) => direction * (compareIds(a[0], b[0]) || compareIds(a[1], b[1]));
  const entries = listing
    .items(after !== undefined)
    .map((item) => ({ item, position: listing.positionOf(item) }))
    .filter(({ position }) => after === undefined || compare(position, after) > 0)
    .sort((a, b) => compare(a.position, b.position));

  const number = Number(page ?? 1);
  const totalPages = countPages(entries.length, limit);
  if (number > totalPages) {
    throw serviceError("page_out_of_range", "beyondLast", { page: number, lastPage: totalPages, limit });
  }
  const found = entries.slice((number - 1) * limit, number * limit);
  const last = found.at(-1);
  const hasNext = page === undefined && entries.length > limit && last !== undefined;
  return {
    data: found.map(({ item }) => item),
    ...(after === undefined && { page: number, total_pages: totalPages }),
    ...(hasNext && { next_cursor: encodeCursor(name, last.position) }),
  };
}

function readCursor(list: string, cursor: string, page: string | number | undefined): Position {
  if (page !== undefined) throw serviceError("invalid_parameter", "pageAndCursor");
  if (cursor === "") throw serviceError("invalid_cursor", "empty");
  const position = decodeCursor(list, cursor);
  if (position === undefined) throw serviceError("invalid_cursor", "foreign");
  return position;
}

const CHECKSUM_BYTES = 4;

/**
 * A position in a list, made unreadable: programs must not get used to building or decoding cursors. It holds no secret,
 * so whoever tries can forge one; a damaged one, or one of another list, is found out.
 *
 * @param list the list and its filters
 */
function encodeCursor(list: string, position: Position): string {
  const text = JSON.stringify(position);
  const check = checksum(`${list}\n${text}`);
  const head = [24, 16, 8, 0].map((shift) => (check >>> shift) & 255);
  return toBase64Url([...head, ...scramble(check, new TextEncoder().encode(text))]);
}

/** The position that a cursor of this very list holds; undefined for any other text. */
function decodeCursor(list: string, cursor: string): Position | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(cursor) || cursor.length % 4 === 1) return undefined;
  const bytes = Array.from(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  // Two texts that decode alike would be two cursors for one position.
  if (bytes.length <= CHECKSUM_BYTES || toBase64Url(bytes) !== cursor) return undefined;
  const check = bytes.slice(0, CHECKSUM_BYTES).reduce((sum, byte) => sum * 256 + byte, 0);
  const text = new TextDecoder().decode(Uint8Array.from(scramble(check, bytes.slice(CHECKSUM_BYTES))));
  // What fits its checksum was encoded here.
  return checksum(`${list}\n${text}`) === check ? (JSON.parse(text) as Position) : undefined;
}

/** 32 bits (FNV-1a, with a last mixing): weak, for what need not withstand an attacker. */
export function checksum(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

/** Mixes bytes with those that follow from a checksum; a second time gives them back. */
function scramble(check: number, bytes: Iterable<number>): number[] {
  let state = check;
  return Array.from(bytes, (byte) => {
    state = (Math.imul(state, 0x19660d) + 0x3c6ef35f) >>> 0;
    return byte ^ (state >>> 24);
  });
}

function toBase64Url(bytes: readonly number[]): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
