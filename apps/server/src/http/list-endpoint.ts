import { pageNumbers, type PagingQuery, readPageRequest } from "@bikeshare/rules";
import type { FastifyRequest } from "fastify";
import { jsonBody } from "./bind.ts";
import { type CursorCipher, cursorPosition } from "./cursor.ts";
import { readChanges, readToCheckpoint } from "./followed-list.ts";
import { type Envelope, type FollowingQuery, type PageCall, type PagedList, scopeOf } from "./paged-list.ts";

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
  const { followed } = list;
  return async ({ query: { page, limit, cursor, ...rest }, request }) => {
    const filters = rest as unknown as Filters & FollowingQuery; // what remains of the query when the paging parameters are taken out
    const call = { request, filters, paging: { page, limit, cursor } };
    if (followed !== undefined && filters.changes_since !== undefined) {
      return writeEnvelope(await readChanges(cursors, { ...list, followed }, call));
    }
    // By number a page may repeat or skip items, so that nothing can go on from its end.
    if (followed !== undefined && filters.updated_since !== undefined && page === undefined) {
      return writeEnvelope(await readToCheckpoint(cursors, { ...list, followed }, call));
    }
    return writeEnvelope(await readPage(cursors, list, call));
  };
}

async function readPage<Position, Filters extends object>(
  cursors: CursorCipher,
  list: PagedList<Position, Filters>,
  call: PageCall<Filters>,
): Promise<Envelope> {
  const position = cursorPosition(cursors, scopeOf(list, call), list.position);
  const asked = readPageRequest(call.paging, (text) => position.decode(text));
  const { items, next, total = 0, checkpoint } = await list.read(call.request, call.filters, asked);
  const nextCursor = asked.kind === "page" || next === undefined ? undefined : position.encode(next);
  return { items, numbers: pageNumbers(asked, total), nextCursor, checkpoint };
}

function writeEnvelope({ items, numbers, nextCursor, checkpoint }: Envelope): string {
  let text = `{"data":[${items}]`;
  if (numbers !== undefined) text += `,"page":${numbers.page},"total_pages":${numbers.total_pages}`;
  if (nextCursor !== undefined) text += `,"next_cursor":"${nextCursor}"`;
  if (checkpoint !== undefined) text += `,"checkpoint":"${checkpoint}"`;
  return `${text}}`;
}
