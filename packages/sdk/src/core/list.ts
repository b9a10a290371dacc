import { UnexpectedResponseError, UsageError } from "../errors/errors.ts";
import type { ListEnvelope } from "../json-types.generated.ts";
import { ApiPromise } from "./api-promise.ts";
import type { ApiResponse } from "./attempt.ts";
import {
  createListIterator,
  type ListIterator,
  nextPosition,
  parseCheckpoint,
  type Position,
  queryAt,
} from "./list-iterator.ts";
import type { Query } from "./request.ts";

/** One page of a list as the service answered it, and the way to the next. */
export class Page<Item> implements ListEnvelope<Item> {
  /** The page's items. It may be empty though more follow. */
  declare readonly data: Item[];
  /** Numbered paging: this page, counting from 1. */
  declare readonly page?: number;
  /** Numbered paging: the number of pages. */
  declare readonly total_pages?: number;
  /** Cursor paging: the next page, for `resumeFrom` or `{ cursor }`; absent or empty on the last. */
  declare readonly next_cursor?: string;
  /** On the last page of `changesSince()`: what the next one goes on from. */
  declare readonly checkpoint?: string;
  readonly #next: List<Item> | undefined;

  /** @internal */
  constructor(envelope: ListEnvelope<Item>, next: List<Item> | undefined) {
    Object.assign(this, envelope);
    this.#next = next;
  }

  /** Whether a page follows. */
  hasNextPage(): boolean {
    return this.#next !== undefined;
  }

  /**
   * The list from the next page on: await it for that page, or loop over it for all items that follow.
   *
   * @throws UsageError on the last page
   */
  getNextPage(): List<Item> {
    if (this.#next) return this.#next;
    throw new UsageError("there is no next page");
  }
}

/**
 * A list, not fetched yet. Await it for its first page; `for await` over it for all items of all pages, requested as
 * they are needed. Each loop over the list starts from the beginning.
 */
export interface List<Item> extends PromiseLike<Page<Item>>, AsyncIterable<Item> {
  /** The first page with its response: status, headers, `Request-Id`, attempts. */
  withResponse(): Promise<ApiResponse<Page<Item>>>;
  /**
   * An iterator over all items. Keep it where a loop may fail: another loop over the same iterator continues where it
   * stopped. Unless `limit` or `page` was given, its pages are as large as allowed.
   */
  [Symbol.asyncIterator](): ListIterator<Item>;
  /** An iterator over all pages. */
  pages(): ListIterator<Page<Item>>;
  /**
   * The first items as an array.
   *
   * @param options.limit the most items, `Infinity` for all; `checkpoint()` tells where the rest begins
   */
  toArray(options: { readonly limit: number }): Promise<Item[]>;
  /**
   * The position of the iteration that was started last, after the item it returned last: a string to keep, for
   * `resumeFrom` on another day; undefined when it is finished. Of events it is the id of the last one, also when it is
   * finished; of `changesSince()` what the next one goes on from.
   */
  checkpoint(): string | undefined;
  /**
   * Returns the list from a position on: from a `checkpoint()`, or from a `next_cursor` of a list with the same
   * filters. Omits nothing; repeats items of a page that changed meanwhile.
   * @throws UsageError when the checkpoint is empty: a finished iteration has nothing to resume
   */
  resumeFrom(checkpoint: string): List<Item>;
}

/** The source of a list's pages. */
export interface ListSource<Item> {
  /** Method and path: `GET /v1/rides`. */
  readonly operation: string;
  /** Requests a page. The response is unchecked, unless the client validates. */
  readonly request: (query: Query) => Promise<ApiResponse<ListEnvelope<Item>>>;
  /** The filters, equal on all pages. */
  readonly filters: Query;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the list from a position on.
 *
 * @param after of a list that is resumed by item id: the id after which it begins, or an empty string
 */
export function createList<Item extends { readonly id: string }>(
  source: ListSource<Item>,
  start: Position,
  after: string | undefined,
): List<Item> {
  const { operation, request, signal } = source;
  const filters = after ? { ...source.filters, after } : source.filters;
  let firstPage: Promise<ApiResponse<Page<Item>>> | undefined;
  let iterator: ListIterator<unknown> | undefined;

  const fetchPage = async (position: Position, isIteration: boolean, seenCursor?: string) => {
    const query = queryAt(position, filters, isIteration);
    const response = await request(query);
    const { data, requestId, attempts } = response;
    const wrongField = (name: string) =>
      new UnexpectedResponseError(`${operation}: unexpected response: wrong ${name}`, { requestId, attempts });
    const next = nextPosition(position, data, wrongField, query["changes_since"] !== undefined, seenCursor);
    return { ...response, next, data: new Page(data, next && createList(source, next, after)) };
  };

  const iterate = <Step>(byPage: boolean): ListIterator<Step> => {
    const created = createListIterator<Item, Page<Item>, Step>(rejectingLoops(fetchPage), start, byPage, signal, after);
    iterator = created;
    return created;
  };

  return {
    // Awaited, it is its first page.
    // oxlint-disable-next-line unicorn/no-thenable
    then(onFulfilled, onRejected) {
      return new ApiPromise(this.withResponse()).then(onFulfilled, onRejected);
    },
    // Only iterators need to know where the next page begins.
    withResponse: () => (firstPage ??= fetchPage(start, false).then(({ next: _, ...response }) => response)),
    [Symbol.asyncIterator]: () => iterate(false),
    pages: () => iterate(true),
    async toArray({ limit } = { limit: 0 }) {
      if (!(limit > 0)) throw new UsageError("toArray needs a limit above 0");
      const items: Item[] = [];
      for await (const item of this) if (items.push(item) >= limit) break;
      return items;
    },
    checkpoint: () => (iterator ?? iterate(false)).checkpoint(),
    resumeFrom(checkpoint) {
      // Taken for the beginning, an empty one would make a program start over for ever.
      if (!checkpoint) throw new UsageError("the checkpoint is empty: is the list finished?");
      const isById = after !== undefined;
      return createList(
        source,
        isById ? {} : parseCheckpoint(checkpoint, start.since !== undefined),
        isById ? checkpoint : after,
      );
    },
  };
}

/**
 * Fetches pages and detects cursors that repeat (Brent's algorithm): one cursor is remembered, and replaced by the
 * present one after 1, 2, 4, 8 … pages, so that a loop of any length is noticed within three times its length.
 */
function rejectingLoops<Fetched extends { readonly next: Position | undefined }>(
  fetchPage: (position: Position, isIteration: true, seenCursor: string | undefined) => Promise<Fetched>,
) {
  let seenCursor: string | undefined;
  let pages = 0;
  return async (position: Position) => {
    const fetched = await fetchPage(position, true, seenCursor);
    pages++;
    const isPowerOfTwo = (pages & (pages - 1)) === 0;
    if (isPowerOfTwo) seenCursor = fetched.next?.cursor;
    return fetched;
  };
}
