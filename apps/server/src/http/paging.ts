import { DEFAULT_PAGE_SIZE } from "@bikeshare/contract";
import { countPages } from "@bikeshare/rules";
import { serviceError } from "../errors/service-error.ts";
import type { PositionCodec, Slice, SliceRequest } from "../lists/slice.ts";
import type { CursorSealer } from "./cursor.ts";

/** The paging parameters as the contract has read them. */
export interface PagingQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A list as its cursors know it: of which system, which list, with which filters. */
export interface ListName {
  readonly systemId: string;
  readonly list: string;
  /** The filters given, `undefined` for those that were not. */
  readonly filters: Readonly<Record<string, unknown>>;
}

/** Reads paging parameters into a request for a slice. */
export function readSliceRequest<Position>(
  query: PagingQuery,
  name: ListName,
  sealer: CursorSealer,
  codec: PositionCodec<Position>,
): SliceRequest<Position> {
  const limit = query.limit ?? DEFAULT_PAGE_SIZE;
  if (query.cursor === undefined) {
    return query.page === undefined ? { kind: "first", limit } : { kind: "page", page: query.page, limit };
  }
  if (query.page !== undefined) {
    throw serviceError("invalid_parameter", "pageAndCursor");
  }
  if (query.cursor === "") {
    throw serviceError("invalid_cursor", "empty");
  }
  const text = sealer.open(sealingName(name), query.cursor);
  const after = text === undefined ? undefined : codec.decode(text);
  if (after === undefined) {
    throw serviceError("invalid_cursor", "foreign");
  }
  return { kind: "cursor", after, limit };
}

/** Writes the list envelope around a slice. */
export function writeEnvelope<Position>(
  request: SliceRequest<Position>,
  slice: Slice<Position>,
  name: ListName,
  sealer: CursorSealer,
  codec: PositionCodec<Position>,
): string {
  let text = `{"data":[${slice.items}]`;
  if (request.kind !== "cursor") {
    const page = request.kind === "page" ? request.page : 1;
    const totalPages = countPages(slice.total ?? 0, request.limit);
    if (page > totalPages) {
      throw serviceError("page_out_of_range", "beyondLast", { page, lastPage: totalPages, limit: request.limit });
    }
    text += `,"page":${page},"total_pages":${totalPages}`;
  }
  if (request.kind !== "page" && slice.next !== undefined) {
    text += `,"next_cursor":"${sealer.seal(sealingName(name), codec.encode(slice.next))}"`;
  }
  return `${text}}`;
}

function sealingName({ systemId, list, filters }: ListName): string {
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return given.length === 0 ? `${systemId}\n${list}` : `${systemId}\n${list}\n${JSON.stringify(given)}`;
}
