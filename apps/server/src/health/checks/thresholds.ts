/** The thresholds of the checks. docs/runbook.md repeats them, and a test compares. */

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export const thresholds = {
  /** Free space of a data directory in which the database is, and of one in which it is not. A tenth is a failure. */
  freeGib: { withDatabase: 2, without: 0.2 },
  /** Renewals begin 30 days ahead: with fewer left they have failed. */
  certificateMs: 14 * DAY_MS,
  /** Shares of DATABASE_SIZE_LIMIT_GB. */
  databaseSize: { warning: 0.85, failure: 0.95 },
  /** Share of max_connections. With fewer free ones the next process that starts gets none. */
  connections: 0.9,
  /** Longer than any transaction of ours but an import, a backup or a migration. */
  transactionMs: 30 * MINUTE_MS,
  /** A replica that keeps up lags by less; a failover to one that lags takes longer. */
  replicaLagMs: 30_000,
  /** The sequencer numbers events within a second or two. */
  eventWaitMs: MINUTE_MS,
  /** Deliveries are sent within a second while workers keep up; a few endpoints that hang delay only their own. */
  dueMs: 15 * MINUTE_MS,
  /** An import reads and writes all the time; a large statement of one takes a minute. */
  importIdleMs: 15 * MINUTE_MS,
  /** Long enough to ask for a new key and to deploy it. */
  keyExpiryMs: { warning: 14 * DAY_MS, failure: 3 * DAY_MS },
  /** Share of a key's limit. A minute above it is close: the next busy minute may exceed the limit. */
  nearLimit: 0.8,
  /** Minimum share and number of failed requests in an hour. Too low: a single mistyped id raises a warning. */
  failingRequests: { share: 0.1, least: 20 },
} as const;
