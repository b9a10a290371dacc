import { cursorScope, pageNumbers, type PageRequest, type PagingQuery, readPageRequest } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import type { Page, PositionCodec } from "../lists/page.ts";
import { callerOf } from "./authenticate.ts";
import { jsonBody } from "./bind.ts";
import { type CursorCipher, cursorPosition } from "./cursor.ts";

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
    const position = cursorPosition(cursors, scope, list.position);
    const asked = readPageRequest({ page, limit, cursor }, (text) => position.decode(text));
    return writeEnvelope(asked, await list.read(request, filters, asked), position);
  };
}

function writeEnvelope<Position>(
  request: PageRequest<Position>,
  page: Page<Position>,
  position: PositionCodec<Position>,
): string {
  const numbers = pageNumbers(request, page.total ?? 0);
  let text = `{"data":[${page.items}]`;
  if (numbers !== undefined) text += `,"page":${numbers.page},"total_pages":${numbers.total_pages}`;
  if (request.kind !== "page" && page.next !== undefined) text += `,"next_cursor":"${position.encode(page.next)}"`;
  return `${text}}`;
}
