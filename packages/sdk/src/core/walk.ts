import type { Page } from "./page.ts";
import type { Place } from "./place.ts";
import { createTurns } from "./turns.ts";

/**
 * A way through a list, gone once: item by item, or page by page. After a failure it stands where it stood, and the
 * next step tries the same again. Leaving a loop does not end it: another loop over the same walk goes on.
 */
export interface Walk<Step> extends AsyncIterableIterator<Step> {
  /** The next one. Steps asked for at once are taken one after the other. */
  next(): Promise<IteratorResult<Step, undefined>>;
  /**
   * Where the walk stands: behind what was given out last. A text to keep, for `startFrom` on another day; undefined when
   * the walk is finished. Of events it is the id of the last one, also when the walk is finished.
   */
  checkpoint(): string | undefined;
  [Symbol.asyncIterator](): Walk<Step>;
}

/** Fetches the page at a place; tells where the next begins. */
export type FetchPage<Item> = (
  place: Place,
) => Promise<{ readonly data: Page<Item>; readonly next: Place | undefined }>;

/**
 * A walk from a place on.
 *
 * @param byPage whether it gives out pages rather than items: `Step` is which
 * @param after of a list that goes on behind an item: the id of the one that it begins behind, or nothing
 */
export function createWalk<Item extends { readonly id: string }, Step>(
  fetch: FetchPage<Item>,
  start: Place,
  byPage: boolean,
  signal: AbortSignal | undefined,
  after: string | undefined,
): Walk<Step> {
  /** Where the next page begins; undefined when there is none. */
  let next: Place | undefined = start;
  /** Where the last page began, what it held, and how much of that was given out. */
  let place: Place = {};
  let items: readonly Item[] = [];
  let taken = 0;
  let lastId: string | undefined;
  const inTurn = createTurns();

  const step = async (): Promise<IteratorResult<Item | Page<Item>, undefined>> => {
    signal?.throwIfAborted();
    while (taken >= items.length) {
      if (!next) return { done: true, value: undefined };
      const { data: page, next: following } = await fetch(next);
      place = next;
      next = following;
      items = page.data;
      // Where the last item is gone from its page, the page is given out again: rather twice than never.
      taken = place.taken ? items.findIndex(({ id }) => id === place.id) + 1 : 0;
      if (!byPage) continue;
      taken = items.length;
      lastId = items.at(-1)?.id ?? lastId;
      return { done: false, value: page };
    }
    const item = items[taken++] as Item; // There is one: more items than were taken.
    lastId = item.id;
    return { done: false, value: item };
  };

  return {
    // Of `byPage` the caller said what a step is.
    next: () => inTurn(step) as Promise<IteratorResult<Step, undefined>>,
    checkpoint() {
      if (after !== undefined) return (lastId ?? after) || undefined;
      const here = taken < items.length ? { ...place, taken, id: lastId } : next;
      return here && JSON.stringify(here);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
