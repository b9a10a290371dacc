import { UsageError } from "../errors/errors.ts";
import { MAX_PAGE_SIZE } from "../routes.generated.ts";
import type { ListEnvelope } from "../wire.generated.ts";
import type { Query } from "./address.ts";

/** A place in a list: where a page begins, and how far one is within it. Without `cursor` and `page` it is the beginning. */
export interface Place {
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
  /** With `page`: the size of the pages, without which their numbers mean nothing. */
  readonly limit?: number | undefined;
  /** How many of the page's items come before the place. */
  readonly taken?: number;
  /** The last of these. */
  readonly id?: string | undefined;
}

/**
 * The query for the page at a place.
 *
 * @param isWalk whether all pages are wanted: then they are as large as can be, unless their size was given, for each
 *   costs one request of the limit
 */
export function queryAt({ cursor, page, limit, taken = 0 }: Place, filters: Query & Place, isWalk: boolean): Query {
  const large = isWalk ? Math.max(filters.limit ?? MAX_PAGE_SIZE, taken) : filters.limit;
  return { ...filters, cursor, page, limit: page ? limit : large };
}

/**
 * Where the page after an answer begins; undefined when the list ends with it. The end is what the specification says
 * it is, and never an answer that lacks something: an empty page may stand in the middle.
 *
 * @param mark a cursor that the walk has been at: where it comes again, the list would never end
 * @throws what `fault` makes, when the answer is not the page that was asked for
 */
export function nextPlace(
  asked: Place,
  answer: Partial<ListEnvelope<unknown>>,
  fault: (what: string) => Error,
  mark: string | undefined,
): Place | undefined {
  const { data, page, total_pages: total = 0, next_cursor: cursor = "" } = answer;
  if (!Array.isArray(data)) throw fault("data");
  if (typeof cursor !== "string" || (cursor && [asked.cursor, mark].includes(cursor))) throw fault("next_cursor");
  if (!asked.cursor) {
    const { page: number = 1, limit } = asked;
    if (page !== number) throw fault("page");
    if (!(total >= number)) throw fault("total_pages");
    if (asked.page) return total > number ? { page: number + 1, limit } : undefined;
    if (total > 1 && !cursor) throw fault("next_cursor");
  }
  return cursor ? { cursor } : undefined;
}

/**
 * Reads a checkpoint, which is a place as JSON, or a `next_cursor` as the service gave it.
 *
 * @throws UsageError for what is no text, and for half a checkpoint. Whoever changes one otherwise is answered by the
 *   service
 */
export function readCheckpoint(text: string): Place {
  try {
    return text.startsWith("{") ? (JSON.parse(text) as Place) : { cursor: text };
  } catch {
    throw new UsageError("the checkpoint is damaged");
  }
}
