import { type Statement, statement } from "./statement.ts";

/**
 * Sends notifications after commits: one statement for many transactions. `NOTIFY` inside a transaction would take a lock
 * across the cluster until the commit is flushed, so that commits would queue, and each would wake every listener. If the
 * process dies between the commit and the notification, listeners fall back on polling and on the maximum age of cached
 * pages.
 */
export interface Notifier {
  /** Soon notifies the listeners of a channel. Equal notifications that wait are sent as one. */
  notify(channel: string, payload: string): void;
  /** Resolves when the pending notifications have been sent, or have failed. */
  close(): Promise<void>;
}

/**
 * Milliseconds between two statements. Too low: a busy process spends its time notifying. Too high: delays events and
 * pages.
 */
const PAUSE_MS = 5;
/** Milliseconds before notifications that could not be sent are tried again. */
const RETRY_AFTER_FAILURE_MS = 250;

// The commit need not wait for the disk: a crash of PostgreSQL that loses the notification also disconnects its listeners.
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
    // Waits until the caller's synchronous code has run, so that all notifications of a commit are sent together.
    await Promise.resolve();
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        const each = [...batch.values()];
        await query(notifyAll, [each.map(([channel]) => channel), each.map(([, payload]) => payload)]);
        if (!isClosed) await pause(PAUSE_MS);
      } catch {
        // Not reported here: other callers of the database report that it fails.
        if (isClosed) break;
        waiting = new Map([...batch, ...waiting]);
        await pause(RETRY_AFTER_FAILURE_MS);
      }
    }
    // Unless closed: reset without an `await` after `waiting` was found empty, so that a later notification starts sending
    // again.
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
      // If a batch fails, the first call ends with it. This call sends what was added meanwhile.
      await begin();
    },
  };
}
