import { DEFAULT_PAGE_SIZE } from "@bikeshare/contract";
import { countPages } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { serviceError } from "../errors/service-error.ts";
import type { Page, PageRequest, PositionCodec } from "../lists/page.ts";
import { callerOf } from "./authenticate.ts";
import { jsonBody } from "./bind.ts";
import type { CursorCipher } from "./cursor.ts";

/** The paging parameters as the contract has read them. */
interface PagingQuery {
  readonly page?: number | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** A list as an endpoint serves it. */
export interface PagedList<Position, Filters> {
  readonly name: string;
  readonly position: PositionCodec<Position>;
  /**
   * What else than filters decides which items a caller sees. A cursor is valid for the same alone: a position in another
   * caller's list would skip or repeat items.
   */
  readonly visibility?: (request: FastifyRequest) => Readonly<Record<string, unknown>>;
  read(request: FastifyRequest, filters: Filters, page: PageRequest<Position>): Promise<Page<Position>>;
}

interface ListCall<Filters> {
  readonly query: Filters & PagingQuery;
  readonly request: FastifyRequest;
}

/** The handler of a list endpoint: reads the page that is asked for and writes the list's envelope around it. */
export function listEndpoint<Position, Filters extends object>(
  cursors: CursorCipher,
  list: PagedList<Position, Filters>,
) {
  const read = pageReader(cursors, list);
  return async (call: ListCall<Filters>) => ({ status: 200 as const, body: jsonBody<never>(await read(call)) });
}

/** The same, giving the body as text: for a list whose pages are cached. */
export function pageReader<Position, Filters extends object>(
  cursors: CursorCipher,
  list: PagedList<Position, Filters>,
): (call: ListCall<Filters>) => Promise<string> {
  return async ({ query: { page, limit, cursor, ...rest }, request }) => {
    const filters = rest as unknown as Filters; // what remains of the query when the paging parameters are taken out
    const scope = cursorScope(callerOf(request).key.system_id, list.name, {
      ...filters,
      ...list.visibility?.(request),
    });
    const position: PositionCodec<Position> = {
      encode: (value) => cursors.encrypt(scope, list.position.encode(value)),
      decode: (text) => {
        const decrypted = cursors.decrypt(scope, text);
        return decrypted === undefined ? undefined : list.position.decode(decrypted);
      },
    };
    const asked = readPageRequest({ page, limit, cursor }, position);
    return writeEnvelope(asked, await list.read(request, filters, asked), position);
  };
}

function readPageRequest<Position>(query: PagingQuery, position: PositionCodec<Position>): PageRequest<Position> {
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
  const after = position.decode(query.cursor);
  if (after === undefined) {
    throw serviceError("invalid_cursor", "foreign");
  }
  return { kind: "cursor", after, limit };
}

function writeEnvelope<Position>(
  request: PageRequest<Position>,
  page: Page<Position>,
  position: PositionCodec<Position>,
): string {
  let text = `{"data":[${page.items}]`;
  if (request.kind !== "cursor") {
    const number = request.kind === "page" ? request.page : 1;
    const totalPages = countPages(page.total ?? 0, request.limit);
    if (number > totalPages) {
      throw serviceError("page_out_of_range", "beyondLast", {
        page: number,
        lastPage: totalPages,
        limit: request.limit,
      });
    }
    text += `,"page":${number},"total_pages":${totalPages}`;
  }
  if (request.kind !== "page" && page.next !== undefined) text += `,"next_cursor":"${position.encode(page.next)}"`;
  return `${text}}`;
}

/** What a cursor is valid for: the system, the list, and everything that selects the items in it. */
function cursorScope(systemId: string, list: string, selection: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(selection)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return given.length === 0 ? `${systemId}\n${list}` : `${systemId}\n${list}\n${JSON.stringify(given)}`;
}
