import { DEFAULT_PAGE_SIZE } from "@bikeshare/contract/pure";
import { serviceError } from "./service-error.ts";

/** The paging parameters of a list. */
export interface PagingQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The requested page of a list: the first one, one by its number, or the page after a position. */
export type PageRequest<Position> =
  | { readonly kind: "first"; readonly limit: number }
  | { readonly kind: "page"; readonly page: number; readonly limit: number }
  | { readonly kind: "cursor"; readonly after: Position; readonly limit: number };

/**
 * Reads the paging parameters.
 * @param decode returns the position in a cursor of this list; undefined for any other text
 * @throws ServiceError `invalid_parameter`, `invalid_cursor`
 */
export function readPageRequest<Position>(
  { page, limit = DEFAULT_PAGE_SIZE, cursor }: PagingQuery,
  decode: (cursor: string) => Position | undefined,
): PageRequest<Position> {
  if (cursor === undefined) return page === undefined ? { kind: "first", limit } : { kind: "page", page, limit };
  if (page !== undefined) throw serviceError("invalid_parameter", "pageAndCursor");
  if (cursor === "") throw serviceError("invalid_cursor", "empty");
  const after = decode(cursor);
  if (after === undefined) throw serviceError("invalid_cursor", "foreign");
  return { kind: "cursor", after, limit };
}

/**
 * Returns the page's number and the number of pages; undefined when the page was requested by cursor.
 * @param total items in the whole list
 * @throws ServiceError `page_out_of_range`
 */
export function pageNumbers(
  request: PageRequest<unknown>,
  total: number,
): { readonly page: number; readonly total_pages: number } | undefined {
  if (request.kind === "cursor") return undefined;
  const { limit } = request;
  const page = request.kind === "page" ? request.page : 1;
  const lastPage = countPages(total, limit);
  if (page > lastPage) throw serviceError("page_out_of_range", "beyondLast", { page, lastPage, limit });
  return { page, total_pages: lastPage };
}

/**
 * Returns the scope of a cursor as a text: the list's owner, the list, and everything that selects its items. A cursor is
 * only valid in its own scope, because with another selection it would skip or repeat items.
 */
export function cursorScope(owner: string, list: string, selection: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(selection)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return given.length === 0 ? `${owner}\n${list}` : `${owner}\n${list}\n${JSON.stringify(given)}`;
}

/** Returns the number of pages. An empty list has one, so that a client that stops at `page === total_pages` works. */
export function countPages(total: number, limit: number): number {
  return Math.max(1, Math.ceil(total / limit));
}

/**
 * Compares ids as the database does: by their UTF-8 bytes, which is the order of code points. JavaScript's `<` compares
 * UTF-16 units, which puts characters above U+FFFF before some below.
 */
export function compareIds(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [one, other] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (one !== other) return codePointRank(one) - codePointRank(other);
  }
  return a.length - b.length;
}

/** Returns a number that sorts UTF-16 units by code point: surrogates encode characters above U+FFFF, so they come last. */
function codePointRank(unit: number): number {
  const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
  return isSurrogate ? unit + 0x10000 : unit;
}
