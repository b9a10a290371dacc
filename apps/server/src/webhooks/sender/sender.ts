import { setImmediate } from "node:timers/promises";
import { readRetryAfter } from "../../http/errors.ts";
import { describeFailure, resolveName } from "../../outbound/addresses/address-guard.ts";
import {
  type ConnectOptions,
  type ConnectTimings,
  connectTo,
  lazySecureContext,
} from "../../outbound/addresses/connect.ts";
import type {
  AttemptRecord,
  AttemptRequest,
  AttemptResult,
  AttemptTimings,
  Failure,
  Header,
} from "../rules/after-attempt.ts";
import { type AddressRules, judgeUrl, refuseReceiverAddress } from "../rules/receiver-url.ts";
import { Connection, type RoundTripResult, type SenderLimits, senderLimits } from "./connection.ts";

/* Makes one POST to a receiver: judges the URL, connects or reuses a connection, and reports the result. */

/** The options of a sender. Those that are left out have the service's defaults. */
export interface SenderOptions {
  readonly rules: AddressRules;
  /**
   * Milliseconds since 1970. Needed only for a `Retry-After` with a date in a response without `Date`. Without a clock, such
   * a header is ignored.
   */
  readonly clock?: (() => number) | undefined;
  /** Milliseconds that never run backwards. */
  readonly monotonic?: (() => number) | undefined;
  /** DNS servers (`address:port`) instead of the system's. */
  readonly resolve?: { readonly servers: readonly string[] } | undefined;
  readonly limits?: Partial<SenderLimits> | undefined;
  /** Certificate authorities (PEM) instead of those that Node trusts. */
  readonly tls?: { readonly ca?: string | undefined } | undefined;
}

/** Makes attempts: signed requests in, results out. */
export interface Sender {
  /**
   * Makes one POST. Whatever the receiver does is a result, not an error.
   * @throws Error when the request itself is malformed, or the sender is closed
   */
  send(request: AttemptRequest): Promise<AttemptResult>;
  /** Starts no more attempts, waits for those in progress (15 s at most) and closes the idle connections. */
  close(): Promise<void>;
}

/**
 * Returns a sender over HTTP/1.1 that calls only addresses that the rules allow. It ignores proxies and cookies,
 * decompresses nothing and follows no redirects. Connections are reused for the next attempt to the same origin.
 */
export function createSender({ rules, clock, resolve, tls, ...options }: SenderOptions): Sender {
  const { monotonic = () => performance.now() } = options;
  const limits = { ...senderLimits, ...options.limits };
  const transport = createTransport({ rules, limits, monotonic, servers: resolve?.servers, ca: tls?.ca });
  const judge = cacheVerdicts(rules);
  // A count rather than a set of promises: a set that grows and shrinks for ever keeps its old hash tables, and the results
  // in them, in memory until the next full garbage collection.
  let inProgress = 0;
  let isClosed = false;
  const idle = Promise.withResolvers<void>();

  async function attempt(request: AttemptRequest): Promise<AttemptResult> {
    const startedAt = monotonic();
    const verdict = judge(request.url);
    if (!verdict.ok) {
      const failure = verdict.reason === "address" ? "address_refused" : "url_refused";
      const result = notSent(describeFailure(failure, verdict.message));
      return report(result, { sentHeaders: [], clock, totalMs: monotonic() - startedAt });
    }
    const { sentHeaders, bytes } = composeRequest(verdict.url, request);
    const result = await transport.send(verdict.url, bytes, startedAt);
    return report(result, { sentHeaders, clock, totalMs: monotonic() - startedAt });
  }

  return {
    async send(request) {
      if (isClosed) throw new Error("The sender is closed.");
      inProgress++;
      try {
        return await attempt(request);
      } finally {
        inProgress--;
        if (isClosed && inProgress === 0) idle.resolve();
      }
    },
    async close() {
      isClosed = true;
      if (inProgress > 0) await idle.promise;
      transport.close();
    },
  };
}

/** Limits the cached verdicts; above the limit the cache is cleared. */
const MAX_CACHED_VERDICTS = 1_000;

/** Judges URLs. The verdict depends on the URL and the rules alone, so it can be cached. */
function cacheVerdicts(rules: AddressRules): (url: string) => ReturnType<typeof judgeUrl> {
  const verdicts = new Map<string, ReturnType<typeof judgeUrl>>();
  return (url) => {
    const known = verdicts.get(url);
    if (known !== undefined) return known;
    const verdict = judgeUrl(url, rules);
    if (verdicts.size >= MAX_CACHED_VERDICTS) verdicts.clear();
    verdicts.set(url, verdict);
    return verdict;
  };
}

/** Headers that only the sender may decide on: a second one from the caller would make the logged headers wrong. */
const ownHeaders: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "upgrade",
  "expect",
]);

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
/** Latin-1 without control characters (except tabs), which a receiver could take for the end of the header. */
const headerValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/**
 * Returns a request in one piece, so that it is written at once, and all its headers in their order.
 * @throws Error if one of the caller's headers may not be sent
 */
function composeRequest({ host, pathname, search }: URL, { headers, body }: AttemptRequest) {
  for (const [name, value] of headers) {
    if (ownHeaders.has(name.toLowerCase())) throw new Error(`The header ${name} is written by the sender itself.`);
    if (!headerName.test(name) || !headerValue.test(value)) throw new Error(`invalid ${name} header`);
  }
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  const sentHeaders: Header[] = [
    ["host", host],
    ["connection", "keep-alive"],
    ...headers,
    ["content-length", String(length)],
  ];
  const lines = sentHeaders.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = `POST ${pathname}${search} HTTP/1.1\r\n${lines}\r\n`;
  // All characters of `head` are Latin-1, so its length is its size in bytes.
  const bytes = Buffer.allocUnsafe(head.length + length);
  bytes.write(head, "latin1");
  if (typeof body === "string") bytes.write(body, head.length);
  else bytes.set(body, head.length);
  return { sentHeaders, bytes };
}

/** The facts about an attempt that its request's outcome lacks. */
interface ReportContext {
  readonly sentHeaders: readonly Header[];
  readonly clock: (() => number) | undefined;
  readonly totalMs: number;
}

/** Returns the result of an attempt, from the outcome of its request. */
function report(result: TransportResult, { sentHeaders, clock, totalMs }: ReportContext): AttemptResult {
  const { roundTrip } = result;
  const { failure, status } = roundTrip;
  const record: AttemptRecord = {
    sentHeaders: roundTrip.isWritten ? sentHeaders : [],
    remoteAddress: result.remoteAddress,
    reusedConnection: result.isReused,
    answerHeaders: roundTrip.headers,
    answerBody: roundTrip.body,
    answerCut: roundTrip.isTruncated,
    retryAfterMs: readRetryAfter(roundTrip.headers, clock),
    timings: rounded({ ...result.connectTimings, firstByte: roundTrip.firstByteMs, total: totalMs }),
  };
  if (failure !== null || status === null) {
    const { failure: code, detail } = failure ?? describeFailure("protocol", "The response has no status.");
    return { ...record, outcome: "failed", status, failure: code, detail };
  }
  const outcome = status >= 200 && status < 300 ? "succeeded" : "rejected";
  return { ...record, outcome, status, failure: null, detail: null };
}

/** Rounds to a thousandth of a millisecond: more digits are noise that fills the log. */
function rounded({ dns, connect, tls, firstByte, total }: AttemptTimings): AttemptTimings {
  return {
    dns: round(dns),
    connect: round(connect),
    tls: round(tls),
    firstByte: round(firstByte),
    total: Math.round(total * 1000) / 1000,
  };
}

function round(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}

interface TransportOptions {
  readonly rules: AddressRules;
  readonly limits: SenderLimits;
  readonly monotonic: () => number;
  /** DNS servers (`address:port`) instead of the system's. */
  readonly servers: readonly string[] | undefined;
  /** Certificate authorities (PEM) instead of those that Node trusts. */
  readonly ca: string | undefined;
}

/** The outcome of a request, and the connection that carried it. */
interface TransportResult {
  readonly roundTrip: RoundTripResult;
  readonly remoteAddress: string | null;
  readonly isReused: boolean;
  readonly connectTimings: ConnectTimings;
}

/** Sends requests over idle connections of earlier ones, or over new ones. */
interface Transport {
  /**
   * @param url as `judgeUrl` gave it
   * @param startedAt on the monotonic clock; the total timeout counts from there
   */
  send(url: URL, request: Uint8Array, startedAt: number): Promise<TransportResult>;
  /** Closes the idle connections. */
  close(): void;
}

function createTransport({ rules, limits, monotonic, servers, ca }: TransportOptions): Transport {
  const idle = new IdleConnections(limits, monotonic);
  const connectOptions: ConnectOptions = {
    refuse: (address, url) => refuseReceiverAddress(address, url, rules),
    resolve: (name) => resolveName(name, { timeoutMs: limits.dnsTimeoutMs, servers }),
    limits,
    monotonic,
    secureContext: lazySecureContext(ca),
  };

  let turn: Promise<void> | undefined;
  /** One turn of the event loop. All callers that wait for the same turn share one promise. */
  function nextTurn(): Promise<void> {
    turn ??= setImmediate().then(() => {
      turn = undefined;
    });
    return turn;
  }

  async function send(url: URL, request: Uint8Array, startedAt: number): Promise<TransportResult> {
    const timeLeft = () => Math.max(1, Math.ceil(limits.totalTimeoutMs - (monotonic() - startedAt)));
    for (let connection = idle.acquire(url.origin); connection !== undefined; connection = idle.acquire(url.origin)) {
      // An unsolicited response may be waiting: it must be read, and end the connection, before this request is written. A
      // turn of the event loop that is already reading sockets does not read again, so that this takes two turns.
      await nextTurn();
      await nextTurn();
      if (!connection.isUsable()) {
        // It may just have become too old. Otherwise it would stay open until its idle timeout.
        connection.destroy();
        continue;
      }
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

/** Returns the result of a request that was not sent. */
function notSent(failure: Failure): TransportResult {
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

/** Limits the remembered origins whose connections are not reused; the oldest are forgotten first. */
const MAX_NO_REUSE_ORIGINS = 1_000;

/** Open connections that wait for the next request to their origin. */
class IdleConnections {
  readonly #limits: SenderLimits;
  readonly #monotonic: () => number;
  readonly #byOrigin = new Map<string, Connection[]>();
  /** Until when no connection of an origin is reused, in milliseconds of the monotonic clock. */
  readonly #noReuseUntil = new Map<string, number>();
  #count = 0;

  constructor(limits: SenderLimits, monotonic: () => number) {
    this.#limits = limits;
    this.#monotonic = monotonic;
  }

  /** Takes the connection that was used last, so that the others reach their idle timeout. */
  acquire(origin: string): Connection | undefined {
    for (;;) {
      const connection = this.#byOrigin.get(origin)?.at(-1);
      if (connection === undefined) return undefined;
      this.#remove(connection);
      if (connection.isUsable()) return connection;
      connection.destroy();
    }
  }

  /** Takes a connection back after a request. Closes it if it may not be reused, or enough connections are idle. */
  release(connection: Connection, { failure }: RoundTripResult): void {
    const { origin } = connection;
    if (failure?.failure === "stale_connection") this.#stopReusing(origin);
    const kept = this.#byOrigin.get(origin) ?? [];
    const { maxIdlePerOrigin, maxIdle } = this.#limits;
    const hasCapacity = kept.length < maxIdlePerOrigin && this.#count < maxIdle;
    const now = this.#monotonic();
    const noReuseUntil = this.#noReuseUntil.get(origin);
    const mayReuse = noReuseUntil === undefined || noReuseUntil <= now;
    if (!connection.isUsable() || !hasCapacity || !mayReuse) {
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
