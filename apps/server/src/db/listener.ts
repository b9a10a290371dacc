import pg from "pg";
import { connectionSettings, type Queryable } from "./database.ts";
import { closeWithin } from "./ending.ts";
import { statement } from "./statement.ts";

/** Hears what other processes tell through `pg_notify`. */
export interface Listener {
  /** True while nothing that was told can have been missed: caches that live by it may be trusted. */
  readonly listening: () => boolean;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly connectionString: string;
  /**
   * Tells the heartbeat, over a connection that is not the listening one: a pooler in between passes on what a
   * connection tells itself, and drops what others tell it.
   */
  readonly notifier: Queryable;
  /** By channel: what to do with a message. */
  readonly on: Readonly<Record<string, (payload: string) => void>>;
  /** Something may have been missed: forget everything that depends on being told. */
  readonly onGap: () => void;
}

/**
 * Milliseconds between two heartbeats, and how long one may take to arrive. Together they bound how long a cache can
 * trust a connection over which nothing arrives, to stay below the second within which a revoked key must fail
 * everywhere. Shorter costs a transaction more often for nothing.
 */
const HEARTBEAT_INTERVAL_MS = 300;
const HEARTBEAT_TIMEOUT_MS = 500;
/** Milliseconds before a lost connection is tried again. */
const RECONNECT_DELAY_MS = 250;

const notify = statement("listener.notify", "select pg_notify($1, $2)");

/** Starts listening; keeps trying while the database is away. */
export function openListener(options: ListenerOptions): Listener {
  let live: pg.Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const again = (delay: number, work: () => Promise<void>) => {
    if (!closed) timer = setTimeout(() => void work(), delay);
  };
  const lose = (client: pg.Client) => {
    if (live === client) {
      live = undefined;
      options.onGap();
    }
    client.connection.stream.destroy();
  };
  const beat = async (client: pg.Client, arrives: Heartbeat): Promise<void> => {
    if (!(await arrives())) lose(client);
    if (live === client) again(HEARTBEAT_INTERVAL_MS, () => beat(client, arrives));
    else again(RECONNECT_DELAY_MS, connect);
  };
  const connect = async (): Promise<void> => {
    const client = createClient(options, lose);
    const arrives = await listenOn(client, options);
    // A connection over which the first heartbeat does not arrive never counts as listening.
    if (arrives === undefined || !(await arrives())) {
      lose(client);
      again(RECONNECT_DELAY_MS, connect);
      return;
    }
    if (closed) {
      lose(client);
      return;
    }
    // What was told before this moment went unheard.
    options.onGap();
    live = client;
    again(HEARTBEAT_INTERVAL_MS, () => beat(client, arrives));
  };

  again(0, connect);
  return {
    listening: () => live !== undefined,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      const client = live;
      live = undefined;
      if (client !== undefined) await closeWithin(client.end());
    },
  };
}

/** Whether what is told now arrives in time. */
type Heartbeat = () => Promise<boolean>;

function createClient({ connectionString, on }: ListenerOptions, lose: (client: pg.Client) => void): pg.Client {
  const client = new pg.Client({ ...connectionSettings(connectionString), query_timeout: HEARTBEAT_TIMEOUT_MS });
  client.on("error", () => lose(client));
  client.on("end", () => lose(client));
  client.on("notification", ({ channel, payload }) => on[channel]?.(payload ?? ""));
  return client;
}

async function listenOn(client: pg.Client, { on, notifier }: ListenerOptions): Promise<Heartbeat | undefined> {
  try {
    await client.connect();
    for (const channel of Object.keys(on)) await client.query(`listen ${client.escapeIdentifier(channel)}`);
    return await listenToHeartbeat(client, notifier);
  } catch {
    return undefined;
  }
}

/** Makes a connection's heartbeat, on a channel of its own: no other process is woken by it. */
async function listenToHeartbeat(client: pg.Client, notifier: Queryable): Promise<Heartbeat> {
  const { rows } = await client.query<{ channel: string }>("select 'heartbeat_' || pg_backend_pid() as channel");
  const channel = rows[0]?.channel ?? "";
  await client.query(`listen ${client.escapeIdentifier(channel)}`);
  let told = 0;
  let onArrival: () => void = () => undefined;
  client.on("notification", (heard) => {
    if (heard.channel === channel && heard.payload === String(told)) onArrival();
  });
  return async () => {
    const arrived = new Promise<true>((resolve) => {
      onArrival = () => resolve(true);
    });
    const failed = notifier.query(notify, [channel, String(++told)]).then(
      () => arrived,
      () => false,
    );
    return within(HEARTBEAT_TIMEOUT_MS, failed);
  };
}

/**
 * Fails where what one connection tells does not reach another, as through a pooler that gives each transaction a
 * connection of its own.
 * @param patience milliseconds that it may take: longer than a database that is just starting is busy
 */
export async function requireNotifications(
  options: Pick<ListenerOptions, "connectionString" | "notifier">,
  patience = 5_000,
): Promise<void> {
  const client = new pg.Client(connectionSettings(options.connectionString));
  client.on("error", () => undefined);
  try {
    await client.connect();
    const arrives = await listenToHeartbeat(client, options.notifier);
    const until = performance.now() + patience;
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

async function within(milliseconds: number, work: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
