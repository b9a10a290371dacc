import { UsageError } from "../errors/errors.ts";
import type { ListEnvelope } from "../json-types.generated.ts";
import { MAX_PAGE_SIZE } from "../routes.generated.ts";
import { createMutex } from "./mutex.ts";
import type { Query } from "./request.ts";

/*
 * Reads a list page by page, and knows at each moment from where a later program could go on. A list is read in one of three
 * ways: by cursor or page number; as a followed list, by the changes since a checkpoint; or after an item's id (events).
 */

/** A position in a list: a page, and how far the caller has read it. Without `cursor` and `page` it is the first page. */
export interface Position {
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
  /** With `page`: the page size, because a page number depends on it. */
  readonly limit?: number | undefined;
  /** How many items of the page the caller has got. */
  readonly offset?: number;
  /** The id of the last item that the caller has got. */
  readonly lastId?: string | undefined;
  /** For a followed list: the checkpoint from which the walk began; empty if it began with all items. */
  readonly since?: string | undefined;
}

/** A value of `updated_since` that includes every item. */
const BEGINNING = "1970-01-01T00:00:00Z";

/**
 * Returns the query for the page at a position.
 *
 * @param filters the parameters that are sent with each page, `limit` included
 * @param isIteration whether all pages are read. Then the default page size is the largest one, because each page costs
 *   one request of the rate limit
 */
export function queryAt(
  { cursor, page, limit, offset = 0, since }: Position,
  filters: Query & Position,
  isIteration: boolean,
): Query {
  // At least `offset`: otherwise the page would lack the last item that the caller has got.
  const size = isIteration ? Math.max(filters.limit ?? MAX_PAGE_SIZE, offset) : filters.limit;
  // The first walk of a followed list has no checkpoint. It reads all items, as those that were updated since the beginning.
  const from = { changes_since: since || undefined, updated_since: since === "" ? BEGINNING : undefined };
  return { ...filters, ...(since !== undefined && from), cursor, page, limit: page ? limit : size };
}

/**
 * Returns where the page after a response begins; undefined when the list ends with this response. An incomplete response is
 * an error and never the end, and an empty page may be in the middle of a list.
 *
 * @param isByChanges whether the list is read by `changes_since`, whose pages have no numbers
 * @param seenCursor a cursor that the iteration has used. If it comes again, the list would never end, which is an error
 * @throws the error of `wrongField`, when the response is not the requested page
 */
export function nextPosition(
  asked: Position,
  response: Partial<ListEnvelope<unknown>>,
  wrongField: (name: string) => Error,
  isByChanges: boolean,
  seenCursor: string | undefined,
): Position | undefined {
  const { data, page, total_pages: totalPages = 0, next_cursor: cursor = "" } = response;
  if (!Array.isArray(data)) throw wrongField("data");
  const isRepeated = cursor && [asked.cursor, seenCursor].includes(cursor);
  if (typeof cursor !== "string" || isRepeated) throw wrongField("next_cursor");
  const { since } = asked;
  // The last page of a followed list must have a checkpoint, or the caller could not continue later.
  if (since !== undefined && !cursor && !response.checkpoint) throw wrongField("checkpoint");
  // A page that was asked for without a cursor has a number.
  if (!asked.cursor && !isByChanges) {
    const { page: askedPage = 1, limit } = asked;
    if (page !== askedPage) throw wrongField("page");
    // Not written as `<`, so that a total that is not a number fails too.
    if (!(totalPages >= askedPage)) throw wrongField("total_pages");
    if (asked.page) return totalPages > askedPage ? { page: askedPage + 1, limit } : undefined;
    // The first page of a walk by cursor.
    if (totalPages > 1 && !cursor) throw wrongField("next_cursor");
  }
  return cursor ? { cursor, since } : undefined;
}

/**
 * Parses a checkpoint: a position as JSON, or a `next_cursor` of the service. For a followed list: a position, or a
 * `checkpoint` of the service.
 *
 * @throws UsageError for a value that is not a string, and for a position that was cut off. The service rejects other
 *   invalid checkpoints
 */
export function parseCheckpoint(text: string, isFollowed: boolean): Position {
  try {
    if (text.startsWith("{")) return JSON.parse(text) as Position;
    return isFollowed ? { since: text } : { cursor: text };
  } catch {
    throw new UsageError("the checkpoint is not valid");
  }
}

/**
 * Iterates once over a list, by item or by page. A failed step does not move the iterator: the next step tries the same
 * again. Leaving a loop does not end the iterator: another loop over it continues.
 */
export interface ListIterator<Step> extends AsyncIterableIterator<Step> {
  /** Returns the next item or page. Concurrent calls are answered one after the other. */
  next(): Promise<IteratorResult<Step, undefined>>;
  /**
   * Returns the position after the last returned item, as a string that you can save and pass to `resumeFrom` later;
   * undefined when the iteration is finished. For events it is the id of the last event, also when the iteration is
   * finished. For `changesSince()` it is the checkpoint for the next call when the iteration is finished.
   */
  checkpoint(): string | undefined;
  [Symbol.asyncIterator](): ListIterator<Step>;
}

/** Fetches the page at a position, and returns where the next page begins. */
type FetchPage<Item, Page> = (position: Position) => Promise<{
  readonly data: Page & Partial<ListEnvelope<Item>> & { readonly data: readonly Item[] };
  readonly next: Position | undefined;
}>;

/**
 * Returns an iterator from a position on.
 *
 * @param byPage whether `Step` is a page rather than an item
 * @param after for a list that is resumed by an item's id: the id after which it begins, `now` for those from now on, or an
 *   empty string for all; undefined for every other list
 */
export function createListIterator<Item extends { readonly id: string }, Page, Step>(
  fetchPage: FetchPage<Item, Page>,
  start: Position,
  byPage: boolean,
  signal: AbortSignal | undefined,
  after: string | undefined,
): ListIterator<Step> {
  /** Where the next page begins; undefined when there is no next page. */
  let next: Position | undefined = start;
  /** The position of the last fetched page, its items, and how many of them were returned. */
  let position: Position = {};
  let items: readonly Item[] = [];
  let offset = 0;
  let lastId: string | undefined;
  /**
   * The checkpoint in the fetched page. Only the final page of a followed list has one, and the answer to `after=now`: the
   * next iteration begins there.
   */
  let end: string | undefined;
  const runExclusive = createMutex();

  const step = async (): Promise<IteratorResult<Item | Page, undefined>> => {
    signal?.throwIfAborted();
    while (offset >= items.length) {
      if (!next) return { done: true, value: undefined };
      const fetched = await fetchPage(next);
      position = next;
      next = fetched.next;
      end = fetched.data.checkpoint;
      items = fetched.data.data;
      // If the last item is no longer on the page, the whole page is returned again: repeating items is better than losing
      // some.
      offset = position.offset ? items.findIndex(({ id }) => id === position.lastId) + 1 : 0;
      if (!byPage) continue;
      offset = items.length;
      lastId = items.at(-1)?.id ?? lastId;
      return { done: false, value: fetched.data };
    }
    const item = items[offset++] as Item; // It exists, because `offset` was below the length.
    lastId = item.id;
    return { done: false, value: item };
  };

  return {
    // `Step` agrees with `byPage`.
    next: () => runExclusive(step) as Promise<IteratorResult<Step, undefined>>,
    checkpoint() {
      // "now" is a checkpoint only until the first request. A saved "now" would mean a later instant, and skip the
      // events in between. If there was no event at all, the checkpoint is undefined: a program that then begins with
      // the oldest event misses none. The empty `after` (all items) becomes undefined too.
      const initial = next || after !== "now" ? after : undefined;
      if (after !== undefined) return (lastId ?? end ?? initial) || undefined;
      const isFollowed = start.since !== undefined;
      // In a followed list an item that changes again moves to the end, perhaps of the same page. To go on after it would
      // skip the items before it, so the whole page is returned again.
      const begun = isFollowed ? position : { ...position, offset, lastId };
      const here = offset < items.length ? begun : next;
      if (!here) return end;
      // On the first page of a followed list: the checkpoint from which the walk began.
      return isFollowed && !here.cursor ? here.since || undefined : JSON.stringify(here);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
