/** The cached list of systems: an unknown path costs no query. */
export interface SystemList {
  /** Tells whether there is a system with this id. */
  has(systemId: string): Promise<boolean>;
  /** Returns the oldest system; undefined: there is none. */
  first(): Promise<string | undefined>;
}

export interface SystemListOptions {
  /** Reads the ids of all systems, oldest first. */
  readonly read: () => Promise<readonly string[]>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/**
 * Minimum interval between two reads for unknown ids. Too low: invented paths cost queries. Too high: a new system is
 * found late.
 */
const REREAD_INTERVAL_MS = 2_000;

/** Creates the cache. Systems are seldom created and never deleted, so a known id stays valid. */
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
