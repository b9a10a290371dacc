import { setImmediate } from "node:timers/promises";
import { type ConnectOptions, type ConnectTimings, connectTo } from "../../outbound/addresses/connect.ts";
import { resolveName } from "../../outbound/addresses/resolve.ts";
import { lazySecureContext } from "../../outbound/addresses/sockets.ts";
import { type AddressRules, refuseReceiverAddress } from "../rules/receiver-url.ts";
import type { Failure } from "./attempt.ts";
import { Connection, type RoundTripResult } from "./connection.ts";
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
  send(url: URL, request: Uint8Array, startedAt: number): Promise<TransportResult>;
  /** Closes the idle connections. */
  close(): void;
}

export function createTransport({ rules, limits, monotonic, servers, ca }: TransportOptions): Transport {
  const idle = new IdleConnections(limits, monotonic);
  const connectOptions: ConnectOptions = {
    refuse: (address, url) => refuseReceiverAddress(address, url, rules),
    resolve: (name) => resolveName(name, { timeoutMs: limits.dnsTimeoutMs, servers }),
    limits,
    monotonic,
    secureContext: lazySecureContext(ca),
  };

  let turn: Promise<void> | undefined;
  /** One turn of the event loop. Everybody who waits for it shares the promise. */
  function nextTurn(): Promise<void> {
    turn ??= setImmediate().then(() => void (turn = undefined));
    return turn;
  }

  async function send(url: URL, request: Uint8Array, startedAt: number): Promise<TransportResult> {
    const timeLeft = () => Math.max(1, Math.ceil(limits.totalTimeoutMs - (monotonic() - startedAt)));
    for (let connection = idle.acquire(url.origin); connection !== undefined; connection = idle.acquire(url.origin)) {
      // A response that nobody asked for may lie ready: it must be read, and end the connection, before this request is
      // written. A turn of the event loop that is already reading sockets reads none again, so it takes two.
      await nextTurn();
      await nextTurn();
      if (!connection.isUsable()) continue;
      const roundTrip = await connection.send(request, timeLeft());
      idle.release(connection, roundTrip);
      return { roundTrip, remoteAddress: connection.remoteAddress, isReused: true, connectTimings: noTimings };
    }
    const { result, remoteAddress, timings: connectTimings } = await connectTo(url, connectOptions);
    if (!("socket" in result)) return { ...notSent(result), remoteAddress, connectTimings };
    const connection = new Connection(result.socket, { origin: url.origin, remoteAddress, limits, monotonic });
    const roundTrip = await connection.send(request, timeLeft());
    idle.release(connection, roundTrip);
    return { roundTrip, remoteAddress, isReused: false, connectTimings };
  }

  return { send, close: () => idle.close() };
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
    firstByteMs: null,
  };
  return { roundTrip: result, remoteAddress: null, isReused: false, connectTimings: noTimings };
}

/** How many origins are remembered whose connections are not reused; the oldest are forgotten first. */
const MAX_NO_REUSE_ORIGINS = 1_000;

/** Connections between two requests, by origin. */
class IdleConnections {
  readonly #limits: SenderLimits;
  readonly #monotonic: () => number;
  readonly #byOrigin = new Map<string, Connection[]>();
  readonly #noReuseUntil = new Map<string, number>();
  #count = 0;

  constructor(limits: SenderLimits, monotonic: () => number) {
    this.#limits = limits;
    this.#monotonic = monotonic;
  }

  /** Takes the one used last, so that the others reach their idle timeout. */
  acquire(origin: string): Connection | undefined {
    for (;;) {
      const connection = this.#byOrigin.get(origin)?.at(-1);
      if (connection === undefined) return undefined;
      this.#remove(connection);
      if (connection.isUsable()) return connection;
      connection.destroy();
    }
  }

  /** Keeps a connection for the next request, or closes it where it may not be reused or enough are idle. */
  release(connection: Connection, { failure }: RoundTripResult): void {
    const { origin } = connection;
    if (failure?.failure === "stale_connection") this.#stopReusing(origin);
    const kept = this.#byOrigin.get(origin) ?? [];
    const { maxIdlePerOrigin, maxIdle } = this.#limits;
    const hasCapacity = kept.length < maxIdlePerOrigin && this.#count < maxIdle;
    const now = this.#monotonic();
    if (!connection.isUsable() || !hasCapacity || (this.#noReuseUntil.get(origin) ?? now) > now) {
      connection.destroy();
      return;
    }
    connection.beginIdle(() => this.#remove(connection));
    kept.push(connection);
    this.#byOrigin.set(origin, kept);
    this.#count++;
  }

  /**
   * Reuses no connection of an origin for a while, because it closed one as a request was written. An origin that does so
   * after every response would otherwise fail every other attempt.
   */
  #stopReusing(origin: string): void {
    const [oldest] = this.#noReuseUntil.keys();
    if (oldest !== undefined && this.#noReuseUntil.size >= MAX_NO_REUSE_ORIGINS) this.#noReuseUntil.delete(oldest);
    this.#noReuseUntil.delete(origin);
    this.#noReuseUntil.set(origin, this.#monotonic() + this.#limits.noReuseMs);
    this.#closeAll(this.#byOrigin.get(origin) ?? []);
  }

  close(): void {
    this.#closeAll([...this.#byOrigin.values()].flat());
  }

  #closeAll(connections: readonly Connection[]): void {
    for (const connection of [...connections]) {
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
