import { setImmediate } from "node:timers/promises";
import { connectTo } from "../../addresses/connect.ts";
import type { ConnectOptions, ConnectTimings } from "../../addresses/connect.ts";
import { resolveName } from "../../addresses/resolve.ts";
import { lazySecureContext } from "../../addresses/sockets.ts";
import { refuseReceiverAddress } from "../rules/receiver-url.ts";
import type { AddressRules } from "../rules/receiver-url.ts";
import type { Failure } from "./attempt.ts";
import { Connection } from "./connection.ts";
import { roundTrip } from "./round-trip.ts";
import type { RoundTripResult, PostRequest } from "./round-trip.ts";
import type { SenderLimits } from "./sender-limits.ts";

export interface TransportOptions {
  readonly rules: AddressRules;
  readonly limits: SenderLimits;
  readonly monotonic: () => number;
  /** DNS servers (`address:port`) instead of the system's. */
  readonly servers: readonly string[] | undefined;
  /** Certificate authorities (PEM) instead of those that Node trusts. */
  readonly ca: string | undefined;
}

/** The outcome of a request, and of which connection. */
export interface TransportResult {
  readonly roundTrip: RoundTripResult;
  readonly remoteAddress: string | null;
  readonly isReused: boolean;
  readonly connectTimings: ConnectTimings;
}

/** Sends requests over idle connections of earlier ones, or over new ones. */
export interface Transport {
  /**
   * @param url as `judgeUrl` gave it
   * @param startedAt on the monotonic clock; the total timeout counts from there
   */
  send(url: URL, request: PostRequest, startedAt: number): Promise<TransportResult>;
  /** Closes the idle connections. */
  close(): void;
}

export function createTransport({ rules, limits, monotonic, servers, ca }: TransportOptions): Transport {
  const idle = new IdleConnections(limits);
  const connectOptions: ConnectOptions = {
    refuse: (address, url) => refuseReceiverAddress(address, url, rules),
    resolve: (name) => resolveName(name, { timeoutMs: limits.dnsTimeoutMs, servers }),
    limits,
    monotonic,
    secureContext: lazySecureContext(ca),
  };

  async function send(url: URL, request: PostRequest, startedAt: number): Promise<TransportResult> {
    for (;;) {
      const connection = idle.acquire(url.origin, monotonic());
      if (connection === undefined) break;
      // An unrequested response that has already arrived must be seen, so that it ends the connection and is not taken for
      // the next one. undici lets one turn of the event loop pass before it writes; a turn that begins while sockets are
      // being read is over before any is read again, so one more passes here.
      await setImmediate();
      const result = await use(connection, request, startedAt);
      if (!mayBeRepeated(result)) {
        return {
          roundTrip: result,
          remoteAddress: connection.remoteAddress,
          isReused: true,
          connectTimings: noTimings,
        };
      }
    }
    const { result, remoteAddress, timings } = await connectTo(url, connectOptions);
    if (!("socket" in result)) return { ...notSent(result), remoteAddress, connectTimings: timings };
    const connection = new Connection(result.socket, url, { remoteAddress, now: monotonic() }, limits);
    const completed = await use(connection, request, startedAt);
    return { roundTrip: completed, remoteAddress, isReused: false, connectTimings: timings };
  }

  async function use(connection: Connection, request: PostRequest, startedAt: number): Promise<RoundTripResult> {
    const timeoutMs = Math.max(1, Math.ceil(limits.totalTimeoutMs - (monotonic() - startedAt)));
    let isReusable = false;
    try {
      const { maxBodyBytes, maxBodyPieces } = limits;
      const result = await roundTrip(connection, request, { timeoutMs, maxBodyBytes, maxBodyPieces, monotonic });
      connection.endRequest();
      isReusable = result.isReusable;
      if (result.failure?.failure === "stale_connection") idle.stopReusing(connection.origin, monotonic());
      return result;
    } finally {
      if (isReusable) idle.release(connection, monotonic());
      else connection.destroy();
    }
  }

  return { send, close: () => idle.close() };
}

/**
 * An idle connection that the receiver closed before the request was written: the receiver cannot have seen the request.
 * One that was written may have been read and acted on; every POST that a receiver may have seen is logged as an attempt.
 */
function mayBeRepeated({ isWritten, failure }: RoundTripResult): boolean {
  return !isWritten && failure !== null && failure.failure !== "timeout";
}

const noTimings: ConnectTimings = { dns: null, connect: null, tls: null };

/** The result of a request that was not sent. */
export function notSent(failure: Failure): TransportResult {
  const result: RoundTripResult = {
    failure,
    isWritten: false,
    status: null,
    headers: [],
    body: new Uint8Array(0),
    isTruncated: false,
    isReusable: false,
    firstByteMs: null,
  };
  return { roundTrip: result, remoteAddress: null, isReused: false, connectTimings: noTimings };
}

/** How many origins are remembered whose connections are not reused; the oldest are forgotten first. */
const MAX_NO_REUSE_ORIGINS = 1_000;

/** Connections between two attempts, by origin. undici closes them at the end of their idle time. */
class IdleConnections {
  readonly #limits: SenderLimits;
  readonly #byOrigin = new Map<string, Connection[]>();
  readonly #noReuseUntil = new Map<string, number>();
  #count = 0;

  constructor(limits: SenderLimits) {
    this.#limits = limits;
  }

  /** Takes the one used last, so that the others reach their idle timeout. */
  acquire(origin: string, now: number): Connection | undefined {
    for (;;) {
      const connection = this.#byOrigin.get(origin)?.at(-1);
      if (connection === undefined) return undefined;
      this.#remove(connection);
      if (connection.isUsable(now, this.#limits.maxAgeMs)) return connection;
      connection.destroy();
    }
  }

  /** Keeps a connection for the next attempt, or closes it where enough are idle. */
  release(connection: Connection, now: number): void {
    const { maxIdlePerOrigin, maxIdle, maxAgeMs } = this.#limits;
    const kept = this.#byOrigin.get(connection.origin) ?? [];
    const isNotReused = (this.#noReuseUntil.get(connection.origin) ?? now) > now;
    if (
      isNotReused ||
      kept.length >= maxIdlePerOrigin ||
      this.#count >= maxIdle ||
      !connection.isUsable(now, maxAgeMs)
    ) {
      connection.destroy();
      return;
    }
    if (connection.requestCount === 1) connection.onClose(() => this.#remove(connection));
    kept.push(connection);
    this.#byOrigin.set(connection.origin, kept);
    this.#count++;
  }

  /**
   * Reuses no connection of an origin for a while, because it closed one as a request was written. An origin that does so
   * after every response would otherwise fail every other attempt.
   */
  stopReusing(origin: string, now: number): void {
    const [oldest] = this.#noReuseUntil.keys();
    if (oldest !== undefined && this.#noReuseUntil.size >= MAX_NO_REUSE_ORIGINS) this.#noReuseUntil.delete(oldest);
    this.#noReuseUntil.delete(origin);
    this.#noReuseUntil.set(origin, now + this.#limits.noReuseMs);
    for (const connection of [...(this.#byOrigin.get(origin) ?? [])]) {
      this.#remove(connection);
      connection.destroy();
    }
  }

  close(): void {
    for (const connection of [...this.#byOrigin.values()].flat()) {
      this.#remove(connection);
      connection.destroy();
    }
  }

  #remove(connection: Connection): void {
    const kept = this.#byOrigin.get(connection.origin);
    const index = kept?.lastIndexOf(connection) ?? -1;
    if (kept === undefined || index === -1) return;
    kept.splice(index, 1);
    this.#count--;
    if (kept.length === 0) this.#byOrigin.delete(connection.origin);
  }
}
