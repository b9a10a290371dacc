import pg from "pg";

import { connectionSettings } from "./database.ts";

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
export function openListener({ connectionString, on, onGap }: ListenerOptions): Listener {
  let live: pg.Client | undefined;
  let closed = false;
  let timer: NodeJS.Timeout | undefined;

  const again = (delay: number, work: () => Promise<void>) => {
    if (!closed) timer = setTimeout(() => void work(), delay);
  };
  const lose = (client: pg.Client) => {
    if (live === client) {
      live = undefined;
      onGap();
    }
    client.connection.stream.destroy();
  };

  async function connect(): Promise<void> {
    const client = new pg.Client({ ...connectionSettings(connectionString), query_timeout: HEARTBEAT_TIMEOUT });
    client.on("error", () => lose(client));
    client.on("end", () => lose(client));
    client.on("notification", ({ channel, payload }) => on[channel]?.(payload ?? ""));
    try {
      await client.connect();
      for (const channel of Object.keys(on)) await client.query(`listen ${client.escapeIdentifier(channel)}`);
    } catch {
      lose(client);
      return again(RECONNECT, connect);
    }
    if (closed) return lose(client);
    // What was told before this moment went unheard.
    onGap();
    live = client;
    again(HEARTBEAT, () => beat(client));
  }

  async function beat(client: pg.Client): Promise<void> {
    try {
      await client.query("select 1");
    } catch {
      lose(client);
    }
    if (live === client) again(HEARTBEAT, () => beat(client));
    else again(RECONNECT, connect);
  }

  void connect();
  return {
    listening: () => live !== undefined,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      const client = live;
      live = undefined;
      await client?.end().catch(() => undefined);
    },
  };
}
