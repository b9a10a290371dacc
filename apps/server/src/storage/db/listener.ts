import pg from "pg";
import { closeWithin, connectionSettings, type Queryable } from "./database.ts";
import { statement } from "./statement.ts";

/*
 * Listens on one connection. A heartbeat, which is a notification sent over another connection, shows at short intervals
 * (`HEARTBEAT_INTERVAL_MS`) that notifications still arrive. When one does not arrive in time, or the connection breaks,
 * cached data are dropped (`onGap`) and a new connection is made.
 */

/** Receives the notifications that other processes send with `pg_notify`. */
export interface Listener {
  /** True while notifications arrive, as the latest heartbeat has shown: caches that rely on them may be trusted. */
  readonly listening: () => boolean;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly connectionString: string;
  /**
   * Sends the heartbeat. Must use another connection than the listening one, because a pooler in between may deliver only
   * the notifications that the listening connection itself sends.
   */
  readonly notifier: Queryable;
  /** The handlers of notifications, by channel. */
  readonly on: Readonly<Record<string, (payload: string) => void>>;
  /** Called when notifications may have been missed, to drop all cached data that relies on them. */
  readonly onGap: () => void;
}

/**
 * The interval between two heartbeats, and the time within which a heartbeat must arrive. Their sum is the longest that a
 * cache trusts a dead connection. It must stay below one second, within which a revoked key fails in every process. Too low:
 * costs more transactions.
 */
const HEARTBEAT_INTERVAL_MS = 300;
const HEARTBEAT_TIMEOUT_MS = 500;
/** Milliseconds after a lost connection, or a failed attempt to connect, before the next attempt. */
const RECONNECT_DELAY_MS = 250;

const notify = statement("listener.notify", "select pg_notify($1, $2)");

/** Starts listening. Keeps trying while the database is unreachable. */
export function openListener(options: ListenerOptions): Listener {
  let current: pg.Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const after = (delayMs: number, work: () => Promise<void>) => {
    if (!closed) timer = setTimeout(() => void work(), delayMs);
  };
  const lose = (client: pg.Client) => {
    if (current === client) {
      current = undefined;
      options.onGap();
    }
    client.connection.stream.destroy();
  };
  const checkHeartbeat = async (client: pg.Client, arrives: Heartbeat): Promise<void> => {
    if (!(await arrives())) lose(client);
    if (current === client) after(HEARTBEAT_INTERVAL_MS, () => checkHeartbeat(client, arrives));
    else after(RECONNECT_DELAY_MS, connect);
  };
  const connect = async (): Promise<void> => {
    const client = createClient(options, lose);
    const arrives = await listenOn(client, options);
    // A connection over which the first heartbeat does not arrive never counts as listening.
    if (arrives === undefined || !(await arrives())) {
      lose(client);
      after(RECONNECT_DELAY_MS, connect);
      return;
    }
    if (closed) {
      lose(client);
      return;
    }
    // Notifications that were sent before this connection listened were missed.
    options.onGap();
    current = client;
    after(HEARTBEAT_INTERVAL_MS, () => checkHeartbeat(client, arrives));
  };

  after(0, connect);
  return {
    listening: () => current !== undefined,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      const client = current;
      current = undefined;
      if (client !== undefined) await closeWithin(client.end());
    },
  };
}

/** Sends a notification. Returns whether it arrives in time. */
type Heartbeat = () => Promise<boolean>;

/** Creates the connection that will listen. @param lose called when the connection breaks or ends */
function createClient({ connectionString, on }: ListenerOptions, lose: (client: pg.Client) => void): pg.Client {
  const client = new pg.Client({ ...connectionSettings(connectionString), query_timeout: HEARTBEAT_TIMEOUT_MS });
  client.on("error", () => lose(client));
  client.on("end", () => lose(client));
  client.on("notification", ({ channel, payload }) => on[channel]?.(payload ?? ""));
  return client;
}

/** Connects and listens. @returns the connection's heartbeat; undefined: connecting or listening failed */
async function listenOn(client: pg.Client, { on, notifier }: ListenerOptions): Promise<Heartbeat | undefined> {
  try {
    await client.connect();
    for (const channel of Object.keys(on)) await client.query(`listen ${client.escapeIdentifier(channel)}`);
    return await listenToHeartbeat(client, notifier);
  } catch {
    return undefined;
  }
}

/** Listens to heartbeats on a separate channel for this connection, so that a heartbeat wakes no other process. */
async function listenToHeartbeat(client: pg.Client, notifier: Queryable): Promise<Heartbeat> {
  const { rows } = await client.query<{ channel: string }>("select 'heartbeat_' || pg_backend_pid() as channel");
  const channel = rows[0]?.channel ?? "";
  await client.query(`listen ${client.escapeIdentifier(channel)}`);
  let sent = 0;
  let onArrival: () => void = () => undefined;
  client.on("notification", (notification) => {
    if (notification.channel === channel && notification.payload === String(sent)) onArrival();
  });
  return async () => {
    const arrived = new Promise<true>((resolve) => {
      onArrival = () => resolve(true);
    });
    const heartbeat = notifier.query(notify, [channel, String(++sent)]).then(
      () => arrived,
      () => false,
    );
    return isTrueWithin(HEARTBEAT_TIMEOUT_MS, heartbeat);
  };
}

/**
 * Fails when notifications of one connection do not reach another, as through a pooler in transaction mode.
 * @param timeoutMs longer than a database is busy after its start
 */
export async function requireNotifications(
  options: Pick<ListenerOptions, "connectionString" | "notifier">,
  timeoutMs = 5_000,
): Promise<void> {
  const client = new pg.Client(connectionSettings(options.connectionString));
  client.on("error", () => undefined);
  try {
    await client.connect();
    const arrives = await listenToHeartbeat(client, options.notifier);
    const until = performance.now() + timeoutMs;
    while (performance.now() < until) if (await arrives()) return;
  } finally {
    await closeWithin(client.end());
  }
  throw new Error(
    "DATABASE_URL leads to a server that does not pass notifications on (LISTEN, NOTIFY), so that a revoked key would " +
      "be found out late. Most often that is a connection pooler in transaction mode, such as PgBouncer with " +
      "pool_mode = transaction. Connect to PostgreSQL itself, or by a pool in session mode.",
  );
}

/** Returns the result of `work`; false if it takes longer than `timeoutMs`. */
async function isTrueWithin(timeoutMs: number, work: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
