import type { ListEnvelope } from "../wire.generated.ts";

/** The rest of a list: await it for its first page, loop over it for its items. */
export interface Rest<Item> extends PromiseLike<Page<Item>>, AsyncIterable<Item> {}

/** One page of a list: what the service answered, and the way to the next. */
export class Page<Item> implements ListEnvelope<Item> {
  /** The page's items. It may be empty though more follow. */
  declare readonly data: Item[];
  /** Numbered paging: this page, counting from 1. */
  declare readonly page?: number;
  /** Numbered paging: the number of pages. */
  declare readonly total_pages?: number;
  /** Cursor paging: the next page, for `startFrom` or `{ cursor }`; absent or empty on the last. */
  declare readonly next_cursor?: string;
  readonly #rest: Rest<Item> | undefined;

  /** @internal */
  constructor(answer: ListEnvelope<Item>, rest: Rest<Item> | undefined) {
    Object.assign(this, answer);
    this.#rest = rest;
  }

  /** What comes after: await it for the next page. Undefined on the last. */
  rest(): Rest<Item> | undefined {
    return this.#rest;
  }
}
