import { constants } from "node:crypto";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import {
  type ConnectFailure,
  describeFailure,
  isLoopbackName,
  literalAddress,
  NetworkList,
  portOf,
  type Resolution,
} from "./address-guard.ts";

/*
 * Opens TCP and TLS connections for URLs, to checked addresses only. `connectTo` does it in this order: it looks the name up,
 * checks its addresses (`checkAddresses`), opens a TCP connection to one of them (`connectFirst`), checks the peer
 * (`judgePeer`), and for https begins TLS (`startTls`).
 */

/** Limits of connecting to the first of several addresses that accepts. */
interface RaceLimits {
  /** Time limit for all addresses together. */
  readonly timeoutMs: number;
  /** Head start of an address over the next. */
  readonly attemptDelayMs: number;
}

type TcpResult = { readonly socket: Socket } | ConnectFailure;

/**
 * Connects to the first address that accepts. Each address gets a head start, then the next one is tried at the same time
 * (RFC 8305). Does not use Node's `autoSelectFamily`, because that gives an attempt up when it begins the next one
 * (nodejs/node#54359), and so never reaches a distant address that is not the last. Takes IP addresses only, so it looks up
 * no name. Never throws.
 */
function connectFirst(addresses: readonly string[], port: number, limits: RaceLimits): Promise<TcpResult> {
  return new Promise((resolve) => {
    new Race(addresses, port, limits, resolve).begin();
  });
}

/** The attempts to connect to several addresses. The first open connection, the last failure or the time limit ends it. */
class Race {
  /** Addresses that were not tried yet. */
  readonly #waiting: string[];
  readonly #port: number;
  readonly #limits: RaceLimits;
  readonly #resolve: (result: TcpResult) => void;
  /** Sockets that are connecting. */
  readonly #running = new Set<Socket>();
  #deadline: NodeJS.Timeout | undefined;
  /** Begins with the next address when the head start of the last one is over. */
  #stagger: NodeJS.Timeout | undefined;
  #lastFailure: ConnectFailure = describeFailure("connect", "There is no address to connect to.");

  constructor(addresses: readonly string[], port: number, limits: RaceLimits, resolve: (result: TcpResult) => void) {
    this.#waiting = [...addresses];
    this.#port = port;
    this.#limits = limits;
    this.#resolve = resolve;
  }

  begin(): void {
    const { timeoutMs } = this.#limits;
    this.#deadline = setTimeout(() => {
      this.#end(describeFailure("connect_timeout", `No address accepted the connection within ${timeoutMs} ms.`));
    }, timeoutMs);
    this.#next();
  }

  /** Tries the next address; without one, the race ends when no socket is connecting. */
  #next(): void {
    clearTimeout(this.#stagger);
    const address = this.#waiting.shift();
    if (address === undefined) {
      if (this.#running.size === 0) this.#end(this.#lastFailure);
      return;
    }
    this.#try(address);
    if (this.#waiting.length > 0) this.#stagger = setTimeout(() => this.#next(), this.#limits.attemptDelayMs);
  }

  #try(address: string): void {
    const socket = connectTcp({ host: address, port: this.#port, noDelay: true, autoSelectFamily: false });
    this.#running.add(socket);
    const onError = (error: Error): void => {
      // An attempt that lost the race may still fail afterwards.
      if (!this.#running.delete(socket)) return;
      this.#lastFailure = connectFailure(error, address, this.#port);
      this.#next();
    };
    socket.on("error", onError);
    socket.once("connect", () => {
      if (!this.#running.delete(socket)) return;
      // Keeps the error listener: otherwise an error before the next user of the socket adds one would end the process.
      this.#end({ socket });
    });
  }

  #end(result: TcpResult): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#stagger);
    this.#waiting.length = 0;
    const losers = [...this.#running];
    this.#running.clear();
    for (const socket of losers) socket.destroy();
    this.#resolve(result);
  }
}

function connectFailure(error: Error, address: string, port: number): ConnectFailure {
  const code = "code" in error ? String(error.code) : error.name;
  const target = `${address.includes(":") ? `[${address}]` : address}:${port}`;
  if (code === "ECONNREFUSED") return describeFailure("connect_refused", `${target} refused the connection.`);
  if (code === "ETIMEDOUT") return describeFailure("connect_timeout", `${target} did not respond.`);
  return describeFailure("connect", `${target} cannot be reached (${code}).`);
}

/**
 * Forbids TLS renegotiation: it costs us ten times as much as it costs the server to request, and nobody would check the
 * certificate that the server then presents.
 */
const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;

/**
 * Returns a function that makes the TLS context of outgoing connections when it is first called, and returns that context
 * from then on. Reading all certificate authorities takes time and memory.
 *
 * @param ca certificate authorities (PEM) instead of those that Node trusts
 */
export function lazySecureContext(ca?: string): () => SecureContext {
  let context: SecureContext | undefined;
  return () => (context ??= createSecureContext({ ca, secureOptions }));
}

type TlsResult = { readonly socket: TLSSocket } | ConnectFailure;

/**
 * Begins TLS on an open connection and checks that the certificate is trusted, valid now and issued for the host.
 * NODE_TLS_REJECT_UNAUTHORIZED does not switch this check off. Never throws.
 *
 * @param host a name or a literal address without brackets
 * @param timeoutMs for the whole handshake
 */
function startTls(tcp: Socket, host: string, secureContext: SecureContext, timeoutMs: number): Promise<TlsResult> {
  return new Promise((resolve) => {
    const socket = connectTls({
      socket: tcp,
      host,
      // A literal address must not be sent as a name (RFC 6066); the certificate is checked against it all the same.
      servername: isIP(host) === 0 ? host : "",
      secureContext,
      rejectUnauthorized: true,
      ALPNProtocols: ["http/1.1"],
    });
    const end = (result: TlsResult): void => {
      clearTimeout(timer);
      socket.off("secureConnect", onSecure).off("close", onClose).off("error", onError);
      // A later error is reported elsewhere or no longer matters, but without a listener it would end the process. The
      // listener destroys the socket, because bytes that are not TLS do not close it: it would stay open until its timeout.
      socket.on("error", () => socket.destroy());
      if (!("socket" in result)) socket.destroy();
      resolve(result);
    };
    const onSecure = (): void => end({ socket });
    const onError = (error: Error): void => end(describeFailure("tls", describeTlsError(error)));
    const onClose = (): void =>
      end(describeFailure("tls", "The server closed the connection during the TLS handshake."));
    const timer = setTimeout(
      () => end(describeFailure("connect_timeout", "The TLS handshake did not end in time.")),
      timeoutMs,
    );
    socket.once("secureConnect", onSecure).once("close", onClose).once("error", onError);
  });
}

/** Explanations of OpenSSL's codes, for people. */
const knownAlerts: Readonly<Record<string, string>> = {
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "The server does not speak HTTP/1.1",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: "The server speaks neither TLS 1.2 nor 1.3",
};

/** Advice that Node appends to a message. It is removed, because readers of the message do not start this program. */
const ADVICE_OF_NODE = /; if the root CA is installed locally, try running Node\.js with --use-system-ca$/;

/** Describes a TLS error, without the position in OpenSSL's source code with which the error's message begins. */
export function describeTlsError(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "ECONNRESET" || code === "EPIPE") return "The server closed the connection during the TLS handshake.";
  const reason = "reason" in error && typeof error.reason === "string" ? error.reason : error.message;
  return code === "" ? reason : `${knownAlerts[code] ?? reason.replace(ADVICE_OF_NODE, "")} (${code})`;
}

/** Limits of opening a connection. */
export interface ConnectLimits {
  /** Time limit for TCP and TLS together, over all addresses of the name. */
  readonly connectTimeoutMs: number;
  /** Head start of an address over the next one (RFC 8305: Connection Attempt Delay). */
  readonly attemptDelayMs: number;
  /** Most addresses of a name that are tried. All its addresses are checked. */
  readonly maxAddresses: number;
}

/** How `connectTo` looks names up, which addresses it refuses, and within which limits. */
export interface ConnectOptions {
  /** Returns why an address that a URL leads to must not be called; undefined when it may. */
  readonly refuse: (address: string, url: URL) => string | undefined;
  /** Looks up all addresses of a name. */
  readonly resolve: (name: string) => Promise<Resolution>;
  readonly limits: ConnectLimits;
  readonly monotonic: () => number;
  readonly secureContext: () => SecureContext;
}

/** Milliseconds that each part took; null where it did not happen. */
export interface ConnectTimings {
  readonly dns: number | null;
  /** The time for the TCP connection. */
  readonly connect: number | null;
  readonly tls: number | null;
}

/** An open connection to a checked address, or the failure; in both cases with the measured times. */
export interface ConnectResult {
  readonly result: { readonly socket: Socket } | ConnectFailure;
  readonly remoteAddress: string | null;
  readonly timings: ConnectTimings;
}

/**
 * Opens a connection for an http or https URL. Looks up the addresses of the host once and checks all of them. Connects only
 * to checked addresses, and compares the peer's address with them before the first byte is written. Never throws.
 */
export async function connectTo(url: URL, options: ConnectOptions): Promise<ConnectResult> {
  const { refuse, limits, monotonic } = options;
  const timings = { dns: null as number | null, connect: null as number | null, tls: null as number | null };
  const fail = (result: ConnectFailure, remoteAddress: string | null = null): ConnectResult => ({
    result,
    remoteAddress,
    timings,
  });

  const literal = literalAddress(url);
  const lookupStartedAt = monotonic();
  const answer = literal === undefined ? await options.resolve(url.hostname) : { addresses: [literal] };
  if (literal === undefined) timings.dns = monotonic() - lookupStartedAt;
  if (!("addresses" in answer)) return fail(answer);

  const judged = checkAddresses(url, answer.addresses, refuse);
  if (!("addresses" in judged)) return fail(judged);

  const connectStartedAt = monotonic();
  const { connectTimeoutMs: timeoutMs, attemptDelayMs } = limits;
  const tcp = await connectFirst(alternate(judged.addresses, limits.maxAddresses), portOf(url), {
    timeoutMs,
    attemptDelayMs,
  });
  timings.connect = monotonic() - connectStartedAt;
  if (!("socket" in tcp)) return fail(tcp);

  const remoteAddress = tcp.socket.remoteAddress ?? null;
  const refusal = judgePeer(remoteAddress, judged.addresses, url, refuse);
  if (refusal !== undefined) {
    tcp.socket.destroy();
    return fail(refusal, remoteAddress);
  }
  if (url.protocol === "http:") return { result: tcp, remoteAddress, timings };

  const tlsStartedAt = monotonic();
  const left = Math.max(1, limits.connectTimeoutMs - timings.connect);
  const result = await startTls(tcp.socket, literal ?? url.hostname, options.secureContext(), left);
  timings.tls = monotonic() - tlsStartedAt;
  return { result, remoteAddress, timings };
}

/**
 * Limits the addresses of one name. Too low: rejects a name with many servers. Too high: the owner of the name delays all
 * other attempts, by some µs for each of the 8,000 addresses that fit into two DNS answers.
 */
const MAX_ADDRESSES = 100;

/** Rejects all addresses of a name if one is rejected: an owner who mixes it in cannot be trusted with the others. */
function checkAddresses(
  url: URL,
  addresses: readonly string[],
  refuse: ConnectOptions["refuse"],
): { readonly addresses: readonly string[] } | ConnectFailure {
  if (addresses.length > MAX_ADDRESSES) {
    return describeFailure(
      "dns",
      `${url.hostname} has ${addresses.length} addresses; at most ${MAX_ADDRESSES} are accepted.`,
    );
  }
  const reasons = addresses.map((address) => refuse(address, url));
  if (isLoopbackName(url.hostname)) {
    // The addresses of `localhost` do not come from DNS, and the operator may have allowed only one of them.
    const allowed = addresses.filter((_address, index) => reasons[index] === undefined);
    if (allowed.length > 0) return { addresses: allowed };
  }
  const reason = reasons.find((each) => each !== undefined);
  return reason === undefined ? { addresses } : describeFailure("address_refused", reason);
}

/** The last check before anything is written: the peer must be one of the checked addresses, and still be allowed. */
function judgePeer(
  remoteAddress: string | null,
  judged: readonly string[],
  url: URL,
  refuse: ConnectOptions["refuse"],
): ConnectFailure | undefined {
  if (remoteAddress === null)
    return describeFailure("reset", "The server closed the connection as soon as it had accepted it.");
  // A `NetworkList` does not accept an address with a zone (%). Only a host that the operator has configured may have such
  // an address, and a connection to it is refused here.
  if (!new NetworkList(judged.filter((address) => !address.includes("%"))).includes(remoteAddress)) {
    return describeFailure(
      "address_refused",
      `The connection led to ${remoteAddress}, which is not one of the checked addresses.`,
    );
  }
  const reason = refuse(remoteAddress, url);
  return reason === undefined ? undefined : describeFailure("address_refused", reason);
}

/** Returns IPv4 and IPv6 addresses in turn, so that a family without a route costs one head start only. */
function alternate(addresses: readonly string[], most: number): string[] {
  const ipv4 = addresses.filter((each) => !each.includes(":"));
  const ipv6 = addresses.filter((each) => each.includes(":"));
  const inTurn: string[] = [];
  for (let index = 0; index < Math.max(ipv4.length, ipv6.length); index++) {
    for (const address of [ipv4[index], ipv6[index]]) if (address !== undefined) inTurn.push(address);
  }
  return inTurn.slice(0, most);
}
