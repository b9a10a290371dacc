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

/** Too high: delays a start while Redis is unavailable. Too low: fails behind a slow TLS handshake. */
const CONNECT_TIMEOUT_MS = 1_000;
/** A connection over which nothing arrives for so long is closed and opened anew: the other side may be gone without a word. */
const SILENCE_TIMEOUT_MS = 1_000;
/** How long a stopping process waits for Redis to close the connection. Nothing is lost after a time-out. */
const CLOSE_TIMEOUT_MS = 100;
/** The maximum of milliseconds between two attempts to connect, also away from a replica. */
const MAX_RECONNECT_DELAY_MS = 500;

export interface RedisStoreOptions {
  /** Checked: see `redisUrl` of runtime/startup/values.ts. */
  readonly url: string;
  /** The connection can be used, for the first time or again. */
  readonly onConnected: () => void;
  /** Called when the connection is lost for good. */
  readonly onLost: (error: Error) => void;
}

export interface RedisStore extends RateStore {
  /** Returns Redis's eviction policy; undefined when it evicts nothing or does not report it. */
  evictionPolicy(): Promise<string | undefined>;
}

/** Counts in Redis or Valkey, over one connection on which requests do not wait for one another. */
export function openRedisStore({ url, onConnected, onLost }: RedisStoreOptions): RedisStore {
  let reason = new Error("it has not answered yet");
  /** The connection was made, but not as the address asks. */
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
    // After a failover the same address may lead to another Redis, while the one that is a replica now stays connected.
    reconnectOnError: (error) => {
      isReplica = error.message.includes("READONLY");
      if (isReplica) reason = error;
      return isReplica;
    },
    // Nothing waits for a connection, and nothing is sent twice: who asks decides without Redis.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // `whichRun` asks the same, and an account that may not ask is no reason to refuse.
    enableReadyCheck: false,
    // The replies are the same, and proxies for Redis know it.
    protocol: 2,
  });
  redis.on("connect", () => {
    isRefused = false;
    isReplica = false;
  });
  redis.on("error", (error: Error) => {
    reason = error;
    // The client goes on in another database where the one of this number does not exist.
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
 * @param failure returns why the connection cannot be used, which is more precise than Redis's own error; undefined when it
 * can
 */
function countIn(redis: Redis, failure: () => Error | undefined): RedisStore {
  // Some hosts forbid the command.
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
        if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
        return readReply(await redis.eval(script, ...call));
      }
    },
    async whichRun() {
      // Without a run id, every connection counts as one to another run.
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
