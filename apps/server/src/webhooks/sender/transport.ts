import { setImmediate } from "node:timers/promises";
import { dial } from "../../addresses/dial.ts";
import type { DialOptions, DialTimings } from "../../addresses/dial.ts";
import { resolveName } from "../../addresses/resolve.ts";
import { lazySecureContext } from "../../addresses/secure.ts";
import { refuseReceiverAddress } from "../rules/receiver-url.ts";
import type { AddressRules } from "../rules/receiver-url.ts";
import type { Failure } from "./attempt.ts";
import { Connection } from "./connection.ts";
import { exchange } from "./exchange.ts";
import type { Exchanged, WireRequest } from "./exchange.ts";
import { KeptConnections } from "./kept-connections.ts";
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

/** What a request came to, and on which connection. */
export interface Carried {
  readonly exchanged: Exchanged;
  readonly remoteAddress: string | null;
  readonly isReused: boolean;
  readonly dialled: DialTimings;
}

/** Carries requests over connections kept from earlier ones, or over new ones. */
export interface Transport {
  /**
   * @param url as `judgeUrl` gave it
   * @param began on the monotonic clock; the time for everything counts from there
   */
  carry(url: URL, request: WireRequest, began: number): Promise<Carried>;
  /** Closes the kept connections and keeps no more. */
  close(): void;
}

export function createTransport({ rules, limits, monotonic, servers, ca }: TransportOptions): Transport {
  const kept = new KeptConnections(limits);
  const dialOptions: DialOptions = {
    refuse: (address, url) => refuseReceiverAddress(address, url, rules),
    resolve: (name) => resolveName(name, { timeoutMs: limits.dnsMs, servers }),
    limits,
    monotonic,
    secureContext: lazySecureContext(ca),
  };

  async function carry(url: URL, request: WireRequest, began: number): Promise<Carried> {
    for (;;) {
      const connection = kept.take(url.origin, monotonic());
      if (connection === undefined) break;
      // undici lets a turn of the event loop pass before it writes, so that an answer nobody asked for is seen and ends
      // the connection. Begun while sockets are being read, that turn is over before any is read again: one more.
      await setImmediate();
      const exchanged = await use(connection, request, began);
      if (!mayBeRepeated(exchanged)) {
        return { exchanged, remoteAddress: connection.remoteAddress, isReused: true, dialled: noTimings };
      }
    }
    const { result, remoteAddress, timings } = await dial(url, dialOptions);
    if (!("socket" in result)) return { ...unreached(result), remoteAddress, dialled: timings };
    const connection = new Connection(result.socket, url, { remoteAddress, now: monotonic() }, limits);
    return { exchanged: await use(connection, request, began), remoteAddress, isReused: false, dialled: timings };
  }

  async function use(connection: Connection, request: WireRequest, began: number): Promise<Exchanged> {
    const timeoutMs = Math.max(1, Math.ceil(limits.totalMs - (monotonic() - began)));
    let isReusable = false;
    try {
      const { bodyBytes, pieces } = limits;
      const exchanged = await exchange(connection, request, { timeoutMs, bodyBytes, pieces, monotonic });
      connection.end();
      isReusable = exchanged.isOver;
      if (exchanged.failure?.failure === "stale_connection") kept.distrust(connection.origin, monotonic());
      return exchanged;
    } finally {
      if (isReusable) kept.put(connection, monotonic());
      else connection.destroy();
    }
  }

  return { carry, close: () => kept.close() };
}

/**
 * A kept connection that the far side closed before the request was written: nobody can have seen it. What was written
 * may have been read and acted on, and every POST that a receiver may have seen gets a line of its own in the log.
 */
function mayBeRepeated({ isWritten, failure }: Exchanged): boolean {
  return !isWritten && failure !== null && failure.failure !== "timeout";
}

const noTimings: DialTimings = { dns: null, connect: null, tls: null };

/** A request that never left. */
export function unreached(failure: Failure): Carried {
  const exchanged: Exchanged = {
    failure,
    isWritten: false,
    status: null,
    headers: [],
    body: new Uint8Array(0),
    isCut: false,
    isOver: false,
    firstByteMs: null,
  };
  return { exchanged, remoteAddress: null, isReused: false, dialled: noTimings };
}
