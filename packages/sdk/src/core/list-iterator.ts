import { UsageError } from "../errors/errors.ts";
import type { ListEnvelope } from "../json-types.generated.ts";
import { MAX_PAGE_SIZE } from "../routes.generated.ts";
import { createMutex } from "./mutex.ts";
import type { Query } from "./request.ts";

/** Where a page begins, and how far into it the caller has read. The beginning where neither `cursor` nor `page` is set. */
export interface Position {
  readonly cursor?: string | undefined;
  readonly page?: number | undefined;
  /** With `page`: the page size, without which page numbers mean nothing. */
  readonly limit?: number | undefined;
  /** How many items of the page the caller has. */
  readonly offset?: number;
  /** The id of the last of them. */
  readonly lastId?: string | undefined;
  /** Of a list that is followed: the checkpoint from which the walk began; empty where it began with everything. */
  readonly since?: string | undefined;
}

/** The `updated_since` that includes everything. */
const BEGINNING = "1970-01-01T00:00:00Z";

/**
 * The query for the page at a position.
 *
 * @param isIteration whether all pages are wanted: then they are as large as allowed, unless their size was given, since
 *   each costs one request of the rate limit
 */
export function queryAt(
  { cursor, page, limit, offset = 0, since }: Position,
  filters: Query & Position,
  isIteration: boolean,
): Query {
  const size = isIteration ? Math.max(filters.limit ?? MAX_PAGE_SIZE, offset) : filters.limit;
  const isBeginning = since === "" || undefined;
  const from = { changes_since: since || undefined, updated_since: isBeginning && BEGINNING };
  return { ...filters, ...(since !== undefined && from), cursor, page, limit: page ? limit : size };
}

/**
 * Returns where the page after a response begins; undefined when the list ends with it. The end is what the specification says
 * it is, and never a response that lacks something: an empty page may stand in the middle.
 *
 * @param isByChanges whether the page is one of changes: these are not numbered
 * @param seenCursor a cursor that the iteration has used: where it comes again, the list would never end
 * @throws what `wrongField` makes, when the response is not the page that was asked for
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
  // Without it nobody could go on from here.
  if (since !== undefined && !cursor && !response.checkpoint) throw wrongField("checkpoint");
  if (!asked.cursor && !isByChanges) {
    const { page: askedPage = 1, limit } = asked;
    if (page !== askedPage) throw wrongField("page");
    if (!(totalPages >= askedPage)) throw wrongField("total_pages");
    if (asked.page) return totalPages > askedPage ? { page: askedPage + 1, limit } : undefined;
    if (totalPages > 1 && !cursor) throw wrongField("next_cursor");
  }
  return cursor ? { cursor, since } : undefined;
}

/**
 * Reads a checkpoint, which is a position as JSON, or a `next_cursor` as the service gave it. Of a list that is followed: a
 * `checkpoint` as the service gave it.
 *
 * @throws UsageError for what is not a string, and for half a checkpoint. The service answers one that was changed
 *   otherwise
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
 * Iterates once over a list, by item or by page. After a failure it stays where it was, and the next step tries the same
 * again. Leaving a loop does not end it: another loop over the same iterator goes on.
 */
export interface ListIterator<Step> extends AsyncIterableIterator<Step> {
  /** The next one. Concurrent calls are answered one after the other. */
  next(): Promise<IteratorResult<Step, undefined>>;
  /**
   * The position after what was returned last: a string to keep, for `resumeFrom` on another day; undefined when the
   * iteration is finished. Of events it is the id of the last one, also when the iteration is finished; of
   * `changesSince()` what the next one goes on from.
   */
  checkpoint(): string | undefined;
  [Symbol.asyncIterator](): ListIterator<Step>;
}

/** Fetches the page at a position; tells where the next begins. */
type FetchPage<Item, Page> = (position: Position) => Promise<{
  readonly data: Page & Partial<ListEnvelope<Item>> & { readonly data: readonly Item[] };
  readonly next: Position | undefined;
}>;

/**
 * Returns an iterator from a position on.
 *
 * @param byPage whether it returns pages rather than items: `Step` is which
 * @param after of a list that is resumed by item id: the id after which it begins, or an empty string
 */
export function createListIterator<Item extends { readonly id: string }, Page, Step>(
  fetchPage: FetchPage<Item, Page>,
  start: Position,
  byPage: boolean,
  signal: AbortSignal | undefined,
  after: string | undefined,
): ListIterator<Step> {
  /** Where the next page begins; undefined when there is none. */
  let next: Position | undefined = start;
  /** Where the last page began, its items, and how many of them were returned. */
  let position: Position = {};
  let items: readonly Item[] = [];
  let offset = 0;
  let lastId: string | undefined;
  /** The checkpoint of the last page, from which the next iteration follows the list. */
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
      // Where the last item has left its page, the whole page is returned again: rather twice than never.
      offset = position.offset ? items.findIndex(({ id }) => id === position.lastId) + 1 : 0;
      if (!byPage) continue;
      offset = items.length;
      lastId = items.at(-1)?.id ?? lastId;
      return { done: false, value: fetched.data };
    }
    const item = items[offset++] as Item; // There is one: `offset` was below the length.
    lastId = item.id;
    return { done: false, value: item };
  };

  return {
    // By `byPage` the caller said what a step is.
    next: () => runExclusive(step) as Promise<IteratorResult<Step, undefined>>,
    checkpoint() {
      // "now" is a checkpoint only until it was asked about: kept, it would mean a later instant, and skip what happened
      // between. If there was no event at all, `undefined` is right: whoever begins with the oldest event misses none.
      if (after !== undefined) return (lastId ?? end ?? (next || after !== "now" ? after : undefined)) || undefined;
      const isFollowed = start.since !== undefined;
      // An item that changes again moves to the end of the list: an offset into the rest would skip items, so the page is
      // returned again.
      const begun = isFollowed ? position : { ...position, offset, lastId };
      const here = offset < items.length ? begun : next;
      if (!here) return end;
      return isFollowed && !here.cursor ? here.since || undefined : JSON.stringify(here);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
