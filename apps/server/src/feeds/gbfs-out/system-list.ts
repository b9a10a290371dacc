/** The systems, cached so that an unknown path costs no query. */
export interface SystemList {
  /** Whether there is a system with this id. */
  has(systemId: string): Promise<boolean>;
  /** The system that was made first; undefined where there is none. */
  first(): Promise<string | undefined>;
}

export interface SystemListOptions {
  /** Reads the ids of all systems, in the order in which they were made. */
  readonly read: () => Promise<readonly string[]>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/**
 * Milliseconds between two reads for unknown ids, during which a new system may not be found. Too low: invented paths cause
 * more queries.
 */
const REREAD_INTERVAL_MS = 2_000;

/** Systems are made seldom and never end, so that an id that was found stays. */
export function createSystemList({ read, clock }: SystemListOptions): SystemList {
  let ids: readonly string[] = [];
  let readAt: number | undefined;
  let reading: Promise<readonly string[]> | undefined;

  function reread(): Promise<readonly string[]> {
    reading ??= read()
      .then((found) => {
        readAt = clock();
        return (ids = found);
      })
      .finally(() => (reading = undefined));
    return reading;
  }

  function isDue(): boolean {
    return readAt === undefined || Math.abs(clock() - readAt) >= REREAD_INTERVAL_MS;
  }

  return {
    has: async (systemId) => ids.includes(systemId) || (isDue() && (await reread()).includes(systemId)),
    first: async () => ids[0] ?? (isDue() ? (await reread())[0] : undefined),
  };
}
