/** A cache of pages of lists. It helps where many callers ask for the same page and rows change rarely. */
export interface PageCache<Page> {
  /**
   * Returns the cached page, or makes it with `make`. Callers that ask for the same page meanwhile share the result. If
   * `make` fails, each of the other callers calls its own `make`: the first caller may be the reason of the failure.
   */
  get(systemId: string, page: string, make: () => Promise<Page>): Page | Promise<Page>;
  /** Returns the page if it is cached and ready. */
  find(systemId: string, page: string): Page | undefined;
  /** Call it when rows of a system have changed. */
  clear(systemId: string): void;
  /** Call it when notifications of changes may have been missed. */
  clearAll(): void;
}

export interface PageCacheOptions {
  /** Whether notifications of changes arrive at present. While they do not, no page older than `minAgeMs` is served. */
  readonly listening: () => boolean;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The most pages of each system; above it the oldest are dropped. 500 pages of 100 kB are 50 MB. */
  readonly capacity?: number;
  /**
   * Milliseconds for which a page is served even if rows have changed: limits how often a page is made whose rows change many
   * times a second. Default 0.
   */
  readonly minAgeMs?: number;
}

/**
 * How long a page is served without a notification of changes, unless `minAgeMs` is longer. Notifications follow the commit:
 * when a process dies in between, other processes show its changes after this time at the latest.
 */
const MAX_AGE_MS = 5_000;

/** A cached page, or one that is being made. */
interface Entry<Page> {
  page: Page | Promise<Page>;
  /** The time at which its query began: the page is not older. */
  readonly since: number;
}

/** Creates a cache. A page is served until rows of its system change, for 5 s at most, and for `minAgeMs` in any case. */
export function createPageCache<Page>(options: PageCacheOptions): PageCache<Page> {
  const { listening, clock, capacity = 500, minAgeMs = 0 } = options;
  /** The pages of each system since its last change. */
  const systems = new Map<string, Map<string, Entry<Page>>>();
  /** Pages made before the last change. Each is served until it is `minAgeMs` old. */
  const outdated = new Map<string, Map<string, Entry<Page>>>();

  // After the clock was set back far, an entry counts as old, not as made in the future.
  const ageOf = ({ since }: Entry<Page>) => Math.abs(clock() - since);
  const clear = (systemId: string) => {
    const pages = systems.get(systemId);
    systems.delete(systemId);
    if (pages === undefined || minAgeMs === 0) return;
    const both = [...(outdated.get(systemId) ?? []), ...pages];
    outdated.set(systemId, new Map(both.filter(([, entry]) => ageOf(entry) < minAgeMs)));
  };
  const find = (systemId: string, page: string): Entry<Page> | undefined => {
    const current = systems.get(systemId)?.get(page);
    if (current !== undefined && listening() && ageOf(current) < Math.max(MAX_AGE_MS, minAgeMs)) return current;
    // Without notifications, or beyond that age, only a page younger than `minAgeMs` is served.
    const entry = current ?? outdated.get(systemId)?.get(page);
    return entry !== undefined && ageOf(entry) < minAgeMs ? entry : undefined;
  };
  return {
    find(systemId, page) {
      const cached = find(systemId, page)?.page;
      return cached instanceof Promise ? undefined : cached;
    },
    get(systemId, page, make) {
      const cached = find(systemId, page)?.page;
      if (cached instanceof Promise) return cached.catch(() => make());
      if (cached !== undefined) return cached;
      if (!listening() && minAgeMs === 0) return make();
      const pages = systems.get(systemId) ?? new Map<string, Entry<Page>>();
      systems.set(systemId, pages);
      // Removed first, so that a page that is made again drops no other, and becomes the newest.
      pages.delete(page);
      const oldest = pages.keys().next().value;
      if (pages.size >= capacity && oldest !== undefined) pages.delete(oldest);
      // Cached while it is being made. A change meanwhile removes it, so a request that follows the change does not get it
      // (or, with a `minAgeMs`, gets it only for that time).
      const entry: Entry<Page> = { page: make(), since: clock() };
      entry.page = Promise.resolve(entry.page).then(
        (made) => (entry.page = made),
        (error: unknown) => {
          for (const kept of [pages, outdated.get(systemId)]) if (kept?.get(page) === entry) kept.delete(page);
          throw error;
        },
      );
      pages.set(page, entry);
      return entry.page;
    },
    clear,
    clearAll: () => {
      for (const systemId of [...systems.keys()]) clear(systemId);
    },
  };
}
