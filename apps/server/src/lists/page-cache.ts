/** Pages that are kept ready as bytes, because many ask for the same and few rows change. */
export interface PageCache<Page> {
  /**
   * The page at hand, or what `make` gives. Callers that ask for the same page meanwhile share one making where it succeeds:
   * why it failed may lie with the caller who makes it, so each of the others then makes it by itself.
   */
  get(systemId: string, page: string, make: () => Promise<Page>): Page | Promise<Page>;
  /** To be called when rows of a system changed. */
  clear(systemId: string): void;
  /** To be called when changes may have gone unheard. */
  clearAll(): void;
}

export interface PageCacheOptions {
  /** Whether changes are being heard of at present; while not, every page is made anew. */
  readonly listening: () => boolean;
  /** Pages at most, of each system; past that, those kept longest are made again. 500 pages of 100 kB are 50 MB. */
  readonly capacity?: number;
}

export function createPageCache<Page>({ listening, capacity = 500 }: PageCacheOptions): PageCache<Page> {
  const systems = new Map<string, Map<string, Page | Promise<Page>>>();
  return {
    get(systemId, page, make) {
      if (!listening()) return make();
      const pages = systems.get(systemId) ?? new Map<string, Page | Promise<Page>>();
      systems.set(systemId, pages);
      const kept = pages.get(page);
      if (kept instanceof Promise) return kept.catch(() => make());
      if (kept !== undefined) return kept;
      const oldest = pages.keys().next().value;
      if (pages.size >= capacity && oldest !== undefined) pages.delete(oldest);
      // Kept from the moment its making begins. Rows that change meanwhile clear the whole map, this one with it, so
      // what was read before a change is never given to a request that came after it was heard of.
      const making = make().then(
        (made) => {
          if (pages.get(page) === making) pages.set(page, made);
          return made;
        },
        (error: unknown) => {
          if (pages.get(page) === making) pages.delete(page);
          throw error;
        },
      );
      pages.set(page, making);
      return making;
    },
    clear: (systemId) => void systems.delete(systemId),
    clearAll: () => systems.clear(),
  };
}
