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

/** One page of a list as the service returned it, with methods to get the next page. */
export class Page<Item> implements ListEnvelope<Item> {
  /** The page's items. The array may be empty although more pages follow. */
  declare readonly data: Item[];
  /** Numbered paging: this page, counting from 1. */
  declare readonly page?: number;
  /** Numbered paging: the number of pages. */
  declare readonly total_pages?: number;
  /** Cursor paging: the next page, for `resumeFrom` or `{ cursor }`; absent or empty on the last. */
  declare readonly next_cursor?: string;
  /** On the last page of `changesSince()`: the checkpoint for the next call. */
  declare readonly checkpoint?: string;
  readonly #next: List<Item> | undefined;

  /** @internal */
  constructor(envelope: ListEnvelope<Item>, next: List<Item> | undefined) {
    Object.assign(this, envelope);
    this.#next = next;
  }

  /** Tells whether there is a next page. */
  hasNextPage(): boolean {
    return this.#next !== undefined;
  }

  /**
   * Returns the list from the next page on. Await it for the next page, or loop over it for all further items.
   *
   * @throws UsageError on the last page
   */
  getNextPage(): List<Item> {
    if (this.#next) return this.#next;
    throw new UsageError("there is no next page");
  }
}

/**
 * A list, not fetched yet. Await it for its first page. Loop over it with `for await` for all items of all pages, which are
 * requested when they are needed. Each loop over the list starts from the beginning.
 */
export interface List<Item> extends PromiseLike<Page<Item>>, AsyncIterable<Item> {
  /** Returns the first page with its response: status, headers, `Request-Id`, attempts. */
  withResponse(): Promise<ApiResponse<Page<Item>>>;
  /**
   * Returns an iterator over all items. Keep it if a loop may fail: another loop over the same iterator continues where it
   * stopped. Its pages are as large as allowed, unless `limit` or `page` was given.
   */
  [Symbol.asyncIterator](): ListIterator<Item>;
  /** Returns an iterator over all pages. */
  pages(): ListIterator<Page<Item>>;
  /**
   * Returns the first items as an array.
   *
   * @param options.limit maximum items, `Infinity` for all; `checkpoint()` returns where the rest begins
   */
  toArray(options: { readonly limit: number }): Promise<Item[]>;
  /**
   * Returns the position of the iteration that was started last, after its last returned item, as a string that you can
   * save and pass to `resumeFrom` later; undefined when the iteration is finished. For events it is the id of the last
   * event, also when it is finished. For `changesSince()` it is the checkpoint for the next call when it is finished.
   */
  checkpoint(): string | undefined;
  /**
   * Returns the list from a position on: a `checkpoint()` of this list, or a `next_cursor` of a list with the same filters.
   * A list of events takes an event's id only. The result leaves out no item, and may repeat items of a page that has changed
   * meanwhile.
   * @throws UsageError when the checkpoint is empty, because a finished iteration has nothing to resume, or when it is
   * incomplete JSON. The service refuses other invalid checkpoints.
   */
  resumeFrom(checkpoint: string): List<Item>;
}

/** The source of a list's pages. api.ts makes it from a route and a query. */
export interface ListSource<Item> {
  /** Method and path: `GET /v1/rides`. */
  readonly operation: string;
  /** Requests a page. The response is only checked if the client has the option `validate`. */
  readonly request: (query: Query) => Promise<ApiResponse<ListEnvelope<Item>>>;
  /** The filters, which are the same for all pages. */
  readonly filters: Query;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the list from a position on.
 *
 * @param after for a list that is resumed by an item's id: the id after which it begins, `now` for those from now on, or an
 *   empty string for all; undefined for every other list
 */
export function createList<Item extends { readonly id: string }>(
  source: ListSource<Item>,
  start: Position,
  after: string | undefined,
): List<Item> {
  const { operation, request, signal } = source;
  const filters = after ? { ...source.filters, after } : source.filters;
  /** The request of the first page, which is sent once however often the list is awaited. */
  let firstPage: Promise<ApiResponse<Page<Item>>> | undefined;
  /** The iterator that was started last, for `checkpoint()`. */
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
    // Awaiting a list returns its first page.
    // oxlint-disable-next-line unicorn/no-thenable
    then(onFulfilled, onRejected) {
      return new ApiPromise(this.withResponse()).then(onFulfilled, onRejected);
    },
    // `next` is left out, because only iterators need it.
    withResponse: () => (firstPage ??= fetchPage(start, false).then(({ next: _, ...response }) => response)),
    [Symbol.asyncIterator]: () => iterate(false),
    pages: () => iterate(true),
    // A program without types may leave the options out: then the default is refused like any other wrong limit.
    async toArray({ limit } = { limit: 0 }) {
      if (!(limit > 0)) throw new UsageError("toArray needs a limit above 0");
      const items: Item[] = [];
      for await (const item of this) if (items.push(item) >= limit) break;
      return items;
    },
    checkpoint: () => (iterator ?? iterate(false)).checkpoint(),
    resumeFrom(checkpoint) {
      // An empty checkpoint is not taken for the beginning, because a program would then read the list again and again.
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
 * Fetches pages and detects repeated cursors by Brent's algorithm: it remembers one cursor, and replaces it by the present
 * one after 1, 2, 4, 8 … pages. So it notices a loop of cursors after at most about three times as many pages as there are
 * before the loop or in it, whichever is more.
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
