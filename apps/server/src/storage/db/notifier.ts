import { type Statement, statement } from "./statement.ts";

/**
 * Sends notifications after commits, those of many transactions at once. `NOTIFY` inside a transaction takes a lock that
 * PostgreSQL holds across the cluster until the commit is flushed, so that commits queue behind one another; and each wakes
 * every listener. If the process dies after the commit and before the notification, each listener's fallback applies:
 * polls, and the maximum age of cached pages.
 */
export interface Notifier {
  /** Notifies those who listen to a channel soon; any number of equal notifications until then are one. */
  notify(channel: string, payload: string): void;
  /** Resolves when the pending notifications have been sent, or have failed. */
  close(): Promise<void>;
}

/**
 * Milliseconds between two statements. Too low: a busy process spends its time notifying. Too high: delays events and
 * pages.
 */
const PAUSE_MS = 5;
/** Before notifications that could not be sent are tried again. */
const RETRY_AFTER_FAILURE_MS = 250;

// A crash loses the notification together with its listeners: the commit need not wait for the disk.
const notifyAll = statement(
  "notifier.notify",
  `select pg_notify(channel, payload)
   from (select set_config('synchronous_commit', 'off', true)) as setting, unnest($1::text[], $2::text[]) as each (channel, payload)`,
);

/** @param query runs a statement in its own transaction */
export function createNotifier(
  query: (statement: Statement, values: readonly unknown[]) => Promise<unknown>,
): Notifier {
  let waiting = new Map<string, readonly [channel: string, payload: string]>();
  let sending: Promise<void> | undefined;
  let isClosed = false;

  const send = async () => {
    // Notifications of the same turn, such as all channels of a commit, are sent together.
    await Promise.resolve();
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        const each = [...batch.values()];
        await query(notifyAll, [each.map(([channel]) => channel), each.map(([, payload]) => payload)]);
        if (!isClosed) await pause(PAUSE_MS);
      } catch {
        // The callers of the database report its failures.
        if (isClosed) break;
        waiting = new Map([...batch, ...waiting]);
        await pause(RETRY_AFTER_FAILURE_MS);
      }
    }
    // Reset in the same turn as the last look at the queue: a later notification then starts sending by itself.
    sending = undefined;
  };
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      // The timer need not keep the process alive: `close` sends the pending notifications.
      setTimeout(resolve, ms).unref();
    });
  const begin = async () => {
    if (waiting.size > 0) sending ??= send();
    await sending;
  };
  return {
    notify: (channel, payload) => {
      waiting.set(`${channel}\n${payload}`, [channel, payload]);
      begin().catch(() => undefined);
    },
    close: async () => {
      isClosed = true;
      await begin();
      await begin();
    },
  };
}
