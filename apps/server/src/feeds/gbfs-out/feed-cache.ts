/** Documents that are kept ready as bytes, of each system and feed. */
export interface FeedCache<Page> {
  /** The page at hand, or what `make` gives; callers that ask for the same page meanwhile share one making. */
  get(systemId: string, page: string, make: () => Promise<Page>): Page | Promise<Page>;
  /** To be called when something of a system changed. */
  clear(systemId: string): void;
  /** To be called when changes may have gone unheard. */
  clearAll(): void;
}

export interface FeedCacheOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Whether changes are being heard of at present. */
  readonly listening: () => boolean;
}

/**
 * Milliseconds for which a page is given although something changed. A busy city changes many times a second and
 * anybody may ask: lower, and the whole list of bikes is made so much more often; higher, and feeds are older than
 * their `ttl` leads callers to think.
 */
const LEAST_AGE = 2000;

interface Kept<Page> {
  page: Page | Promise<Page>;
  /** When its making began: what it shows is not older. */
  readonly since: number;
  changed: boolean;
}

/** A page is given while nothing has changed since it was made, and for two seconds in any case. */
export function createFeedCache<Page>({ clock, listening }: FeedCacheOptions): FeedCache<Page> {
  const systems = new Map<string, Map<string, Kept<Page>>>();
  const outdate = (pages: Iterable<Kept<Page>>) => {
    for (const kept of pages) kept.changed = true;
  };
  return {
    get(systemId, page, make) {
      const kept = systems.get(systemId)?.get(page);
      const now = clock();
      if (kept && ((!kept.changed && listening()) || Math.abs(now - kept.since) < LEAST_AGE)) return kept.page;
      const pages = systems.get(systemId) ?? new Map<string, Kept<Page>>();
      systems.set(systemId, pages);
      const made: Kept<Page> = { page: make(), since: now, changed: false };
      made.page = Promise.resolve(made.page).then(
        (ready) => (made.page = ready),
        (error: unknown) => {
          if (pages.get(page) === made) pages.delete(page);
          if (pages.size === 0 && systems.get(systemId) === pages) systems.delete(systemId);
          throw error;
        },
      );
      pages.set(page, made);
      return made.page;
    },
    clear: (systemId) => outdate(systems.get(systemId)?.values() ?? []),
    clearAll: () => {
      for (const pages of systems.values()) outdate(pages.values());
    },
  };
}
