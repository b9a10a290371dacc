import { connect } from "node:net";
import type { Socket } from "node:net";
import { describeFailure } from "./dial-failure.ts";
import type { DialFailure } from "./dial-failure.ts";

export interface ConnectLimits {
  /** For all addresses together. */
  readonly timeoutMs: number;
  /** Head start of an address over the next. */
  readonly staggerMs: number;
}

export type ConnectResult = { readonly socket: Socket } | DialFailure;

/**
 * Connects to the first address that answers: each gets a head start, then the next is tried beside it (RFC 8305). Takes
 * literal addresses only, so nothing is looked up here. Never throws.
 */
export function connectFirst(
  addresses: readonly string[],
  port: number,
  limits: ConnectLimits,
): Promise<ConnectResult> {
  return new Promise((resolve) => {
    new Race(addresses, port, limits, resolve).begin();
  });
}

class Race {
  readonly #waiting: string[];
  readonly #port: number;
  readonly #limits: ConnectLimits;
  readonly #resolve: (result: ConnectResult) => void;
  readonly #running = new Set<Socket>();
  #deadline: NodeJS.Timeout | undefined;
  #stagger: NodeJS.Timeout | undefined;
  #lastFailure: DialFailure = describeFailure("connect", "There is no address to connect to.");

  constructor(
    addresses: readonly string[],
    port: number,
    limits: ConnectLimits,
    resolve: (result: ConnectResult) => void,
  ) {
    this.#waiting = [...addresses];
    this.#port = port;
    this.#limits = limits;
    this.#resolve = resolve;
  }

  begin(): void {
    const { timeoutMs } = this.#limits;
    this.#deadline = setTimeout(() => {
      this.#end(describeFailure("connect_timeout", `Nobody accepted the connection within ${timeoutMs} ms.`));
    }, timeoutMs);
    this.#next();
  }

  #next(): void {
    clearTimeout(this.#stagger);
    const address = this.#waiting.shift();
    if (address === undefined) {
      if (this.#running.size === 0) this.#end(this.#lastFailure);
      return;
    }
    this.#try(address);
    if (this.#waiting.length > 0) this.#stagger = setTimeout(() => this.#next(), this.#limits.staggerMs);
  }

  #try(address: string): void {
    const socket = connect({ host: address, port: this.#port, noDelay: true, autoSelectFamily: false });
    this.#running.add(socket);
    const onError = (error: Error): void => {
      // One that lost the race may still fail afterwards.
      if (!this.#running.delete(socket)) return;
      this.#lastFailure = connectFailure(error, address, this.#port);
      this.#next();
    };
    socket.on("error", onError);
    socket.once("connect", () => {
      if (!this.#running.delete(socket)) return;
      // The listener stays: an error between two owners must find one.
      this.#end({ socket });
    });
  }

  #end(result: ConnectResult): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#stagger);
    this.#waiting.length = 0;
    const losers = [...this.#running];
    this.#running.clear();
    for (const socket of losers) socket.destroy();
    this.#resolve(result);
  }
}

function connectFailure(error: Error, address: string, port: number): DialFailure {
  const code = "code" in error ? String(error.code) : error.name;
  const place = `${address.includes(":") ? `[${address}]` : address}:${port}`;
  if (code === "ECONNREFUSED") return describeFailure("connect_refused", `${place} refused the connection.`);
  if (code === "ETIMEDOUT") return describeFailure("connect_timeout", `${place} did not answer.`);
  return describeFailure("connect", `${place} cannot be reached (${code}).`);
}
