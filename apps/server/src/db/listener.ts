import pg from "pg";
import { connectionSettings } from "./database.ts";
import { endWithin } from "./ending.ts";

/** Hears what other processes tell through `pg_notify`. */
export interface Listener {
  /** True while nothing that was told can have been missed: caches that live by it may be trusted. */
  readonly listening: () => boolean;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly connectionString: string;
  /** By channel: what to do with a message. */
  readonly on: Readonly<Record<string, (payload: string) => void>>;
  /** Something may have been missed: forget everything that depends on being told. */
  readonly onGap: () => void;
}

/**
 * Milliseconds between two signs of life, and how long one may take. Together they bound how long a cache can
 * trust a connection that is dead without saying so, to stay below the second within which a revoked key must
 * fail everywhere. Shorter costs a query more often for nothing.
 */
const HEARTBEAT = 300;
const HEARTBEAT_TIMEOUT = 500;
/** Milliseconds before a lost connection is tried again. */
const RECONNECT = 250;

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
  const beat = async (client: pg.Client): Promise<void> => {
    if (!(await isAlive(client))) lose(client);
    if (live === client) again(HEARTBEAT, () => beat(client));
    else again(RECONNECT, connect);
  };
  const connect = async (): Promise<void> => {
    const client = createClient(options, lose);
    if (!(await listenOn(client, Object.keys(options.on)))) {
      lose(client);
      again(RECONNECT, connect);
      return;
    }
    if (closed) {
      lose(client);
      return;
    }
    // What was told before this moment went unheard.
    options.onGap();
    live = client;
    again(HEARTBEAT, () => beat(client));
  };

  again(0, connect);
  return {
    listening: () => live !== undefined,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      const client = live;
      live = undefined;
      if (client !== undefined) await endWithin(client.end());
    },
  };
}

function createClient({ connectionString, on }: ListenerOptions, lose: (client: pg.Client) => void): pg.Client {
  const client = new pg.Client({ ...connectionSettings(connectionString), query_timeout: HEARTBEAT_TIMEOUT });
  client.on("error", () => lose(client));
  client.on("end", () => lose(client));
  client.on("notification", ({ channel, payload }) => on[channel]?.(payload ?? ""));
  return client;
}

async function listenOn(client: pg.Client, channels: readonly string[]): Promise<boolean> {
  try {
    await client.connect();
    for (const channel of channels) await client.query(`listen ${client.escapeIdentifier(channel)}`);
    return true;
  } catch {
    return false;
  }
}

async function isAlive(client: pg.Client): Promise<boolean> {
  try {
    await client.query("select 1");
    return true;
  } catch {
    return false;
  }
}
