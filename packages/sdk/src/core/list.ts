import { UnexpectedAnswerError, UsageError } from "../errors/errors.ts";
import type { ListEnvelope } from "../wire.generated.ts";
import type { Query } from "./address.ts";
import type { Answered } from "./attempt.ts";
import { Call } from "./call.ts";
import { Page, type Rest } from "./page.ts";
import { nextPlace, type Place, queryAt, readCheckpoint } from "./place.ts";
import { createWalk, type Walk } from "./walk.ts";

/**
 * A list, not fetched yet. Await it for its first page; `for await` over it for all items of all pages, asked for as
 * they are needed. Each loop over the list begins a new walk.
 */
export interface List<Item> extends Rest<Item> {
  /** The first page with its answer: status, headers, `Request-Id`, attempts. */
  withResponse(): Promise<Answered<Page<Item>>>;
  /**
   * A walk over all items. Keep it where a loop may fail: another loop over the same walk goes on where it stood.
   * Unless `limit` or `page` was given, it asks for pages as large as they can be.
   */
  [Symbol.asyncIterator](): Walk<Item>;
  /** A walk over all pages. */
  pages(): Walk<Page<Item>>;
  /**
   * The first items as an array.
   *
   * @param options.limit how many at most, `Infinity` for all; `checkpoint()` tells where the rest begins
   */
  toArray(options: { readonly limit: number }): Promise<Item[]>;
  /**
   * Where the walk stands that was begun last: behind what it gave out last. A text to keep, for `startFrom` on another
   * day; undefined when it is finished. Of events it is the id of the last one, also when it is finished.
   */
  checkpoint(): string | undefined;
  /**
   * The same list from a place on: from a `checkpoint()`, or a `next_cursor`, of a list with the same filters. Nothing is
   * left out; items of one page may come again where it changed meanwhile.
   *
   * @throws UsageError when it is empty: a finished walk has no checkpoint, there is nothing to go on with
   */
  startFrom(checkpoint: string): List<Item>;
}

/** Asks for a page; the answer is the service's word, which `validate` can look at. */
export type Ask<Item> = (query: Query) => Promise<Answered<ListEnvelope<Item>>>;

/**
 * Fetches pages, and finds cursors that go round with one of them kept: after 1, 2, 4, 8 … pages the present one takes its
 * place, so that a circle of any length is noticed within three times its length.
 */
function endingCircles<Fetched extends { readonly next: Place | undefined }>(
  fetchPage: (place: Place, isWalk: true, mark: string | undefined) => Promise<Fetched>,
) {
  let mark: string | undefined;
  let pages = 0;
  return async (place: Place) => {
    const fetched = await fetchPage(place, true, mark);
    if (!(++pages & (pages - 1))) mark = fetched.next?.cursor;
    return fetched;
  };
}

/**
 * The list that begins at a place.
 *
 * @param after of a list that goes on behind an item, by the parameter of that name: the item's id, or nothing
 */
export function createList<Item extends { readonly id: string }>(
  operation: string,
  ask: Ask<Item>,
  filters: Query,
  signal: AbortSignal | undefined,
  start: Place,
  after: string | undefined,
): List<Item> {
  let first: Promise<Answered<Page<Item>>> | undefined;
  let walk: Walk<unknown> | undefined;
  const listAt = (place: Place, behind = after) => createList(operation, ask, filters, signal, place, behind);

  const fetchPage = async (place: Place, isWalk: boolean, mark?: string) => {
    const answered = await ask(queryAt(place, after ? { ...filters, after } : filters, isWalk));
    const { data, requestId, attempts } = answered;
    const fault = (what: string) =>
      new UnexpectedAnswerError(`${operation} was answered with a wrong ${what}`, { requestId, attempts });
    const next = nextPlace(place, data, fault, mark);
    return { ...answered, next, data: new Page(data, next && listAt(next)) };
  };

  const begin = <Step>(byPage: boolean): Walk<Step> => {
    const begun = createWalk<Item, Step>(endingCircles(fetchPage), start, byPage, signal, after);
    walk = begun;
    return begun;
  };

  return {
    // Awaited, it is its first page.
    // oxlint-disable-next-line unicorn/no-thenable
    then(onDone, onFailed) {
      return new Call(this.withResponse()).then(onDone, onFailed);
    },
    // Where the next page begins is for walks alone.
    withResponse: () => (first ??= fetchPage(start, false).then(({ next: _, ...answered }) => answered)),
    [Symbol.asyncIterator]: () => begin(false),
    pages: () => begin(true),
    async toArray({ limit } = { limit: 0 }) {
      if (!(limit > 0)) throw new UsageError("toArray needs a limit above 0");
      const items: Item[] = [];
      for await (const item of this) if (items.push(item) >= limit) break;
      return items;
    },
    checkpoint: () => (walk ?? begin(false)).checkpoint(),
    startFrom(checkpoint) {
      // Taken for the beginning, nothing would make a program start over for ever.
      if (!checkpoint) throw new UsageError("no checkpoint: is the walk finished?");
      return after === undefined ? listAt(readCheckpoint(checkpoint)) : listAt({}, checkpoint);
    },
  };
}
