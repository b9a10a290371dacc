import { hash } from "node:crypto";
import { Redis } from "ioredis";
import {
  type CountRequest,
  type RateStore,
  readReply,
  scriptArguments,
  type StoreWindow,
  windowScript,
} from "./shared-windows.ts";

/* The store in Redis that counts the requests of all processes for the rate limits. */

/** Limits one attempt to connect. Too high: delays a start while Redis is down. Too low: fails behind a slow handshake. */
const CONNECT_TIMEOUT_MS = 1_000;
/** A connection on which an answer is awaited for this long is closed and opened again: the other side may be dead. */
const SILENCE_TIMEOUT_MS = 1_000;
/** How long a stopping process waits for Redis to close the connection. Nothing is lost after a time-out. */
const CLOSE_TIMEOUT_MS = 100;
/** Maximum milliseconds between two attempts to connect; also the pause before connecting again after reaching a replica. */
const MAX_RECONNECT_DELAY_MS = 500;

export interface RedisStoreOptions {
  /** The checked address: see `redisUrl` in runtime/startup/values.ts. */
  readonly url: string;
  /** Called when the connection can be used, for the first time or again. */
  readonly onConnected: () => void;
  /** Called each time that the connection is lost or cannot be made. The store tries to connect again. */
  readonly onLost: (error: Error) => void;
}

export interface RedisStore extends RateStore {
  /** Returns Redis's eviction policy; undefined when it evicts nothing or does not report it. */
  evictionPolicy(): Promise<string | undefined>;
}

/** Counts in Redis or Valkey, over one connection on which requests do not wait for one another. */
export function openRedisStore({ url, onConnected, onLost }: RedisStoreOptions): RedisStore {
  /** Why the connection cannot be used, at a time when it cannot. */
  let reason = new Error("it has not answered yet");
  /** The server refused a part of the address, such as the database number, although the connection was made. */
  let isRefused = false;
  let isReplica = false;
  const redis = new Redis({
    ...addressOf(url),
    connectionName: "bikeshare",
    disableClientInfo: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disconnectTimeout: CLOSE_TIMEOUT_MS,
    retryStrategy: (attempt) => (isReplica ? MAX_RECONNECT_DELAY_MS : Math.min(attempt * 50, MAX_RECONNECT_DELAY_MS)),
    // Reconnects when Redis has become a replica: after a failover the same address may lead to another Redis.
    reconnectOnError: (error) => {
      isReplica = error.message.includes("READONLY");
      if (isReplica) reason = error;
      return isReplica;
    },
    // No command waits for a connection or is sent twice: without an answer the limiter decides without Redis.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // The check would send `INFO`, as `whichRun` does, and would fail for an account without that right.
    enableReadyCheck: false,
    // Our replies are the same in versions 2 and 3, and proxies for Redis support version 2.
    protocol: 2,
  });
  redis.on("connect", () => {
    isRefused = false;
    isReplica = false;
  });
  redis.on("error", (error: Error) => {
    reason = error;
    // In the state `connect` the client sends the password and the database number. If that database does not exist, the
    // client would go on in another one, so the address counts as refused.
    if (redis.status === "connect") isRefused = true;
  });
  redis.on("ready", () => {
    if (isRefused) return onLost(reason);
    reason = new Error("the connection was closed");
    onConnected();
  });
  redis.on("close", () => onLost(reason));
  return countIn(redis, () => (redis.status !== "ready" || isRefused ? reason : undefined));
}

/**
 * Returns the store that counts over a connection.
 * @param failure returns why the connection cannot be used, more precisely than the client's error; undefined: it can
 */
function countIn(redis: Redis, failure: () => Error | undefined): RedisStore {
  // Some Redis hosts forbid INFO. The answer is then empty.
  const ask = (section: string) => redis.info(section).catch(() => "");
  const script = windowScript();
  const digest = hash("sha1", script);
  return {
    async count(request: CountRequest): Promise<StoreWindow> {
      const known = failure();
      if (known !== undefined) throw known;
      const call = [1, request.key, ...scriptArguments(request)] as const;
      try {
        return readReply(await redis.evalsha(digest, ...call));
      } catch (error) {
        // Redis does not know the script by its digest, as after a restart: `eval` sends the text, and Redis keeps it.
        if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
        return readReply(await redis.eval(script, ...call));
      }
    },
    async whichRun() {
      // If Redis reports no run id, each new connection counts as one to a new run.
      return /^run_id:(\w+)/m.exec(await ask("server"))?.[1];
    },
    async evictionPolicy() {
      const memory = await ask("memory");
      const isBounded = /^maxmemory:[1-9]/m.test(memory);
      const policy = /^maxmemory_policy:([\w-]+)/m.exec(memory)?.[1];
      return isBounded && policy !== "noeviction" ? policy : undefined;
    },
    close: () => redis.disconnect(),
  };
}

function addressOf(text: string) {
  const url = new URL(text);
  const isEncrypted = url.protocol === "rediss:";
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? 6379 : Number(url.port),
    ...(url.username !== "" && { username: decodeURIComponent(url.username) }),
    ...(url.password !== "" && { password: decodeURIComponent(url.password) }),
    db: Number(url.pathname.slice(1)),
    ...(isEncrypted && { tls: {} }),
  };
}
