import type { Socket } from "node:net";
import { Client } from "undici";
import { HeadGuard } from "./head-guard.ts";
import type { HeadFault } from "./head-guard.ts";
import type { SenderLimits } from "./sender-limits.ts";

/** The head guard has ended a connection. */
export class HeadRefused extends Error {
  readonly fault: HeadFault;

  constructor(fault: HeadFault) {
    super(fault);
    this.fault = fault;
  }
}

/** Subtracted from the idle time that a far side names, for the way there. */
const IDLE_MARGIN_MS = 1_000;

/**
 * One checked connection to one origin, which carries one attempt at a time. undici speaks HTTP/1.1 over it and is never
 * let open another: a connection that is gone stays gone.
 */
export class Connection {
  readonly origin: string;
  readonly remoteAddress: string | null;
  readonly client: Client;
  readonly head: HeadGuard;
  readonly #socket: Socket;
  readonly #bornAt: number;
  /** Attempts that it has carried to their end. */
  uses = 0;

  constructor(
    socket: Socket,
    { origin }: URL,
    { remoteAddress, now }: { readonly remoteAddress: string | null; readonly now: number },
    limits: SenderLimits,
  ) {
    this.#socket = socket;
    this.origin = origin;
    this.remoteAddress = remoteAddress;
    this.#bornAt = now;
    this.head = new HeadGuard(limits);
    watch(socket, this.head);
    let isGiven = false;
    this.client = new Client(origin, {
      connect: (_options, callback) => {
        const isGone = isGiven;
        isGiven = true;
        // Not at once: undici goes on with its queue only when it is called back later.
        queueMicrotask(() => (isGone ? callback(new Error("The connection is gone."), null) : callback(null, socket)));
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: limits.headBytes,
      // The attempt has one time for everything; a timer of the parser's beside it would only end it under another name.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: limits.idleMs,
      keepAliveMaxTimeout: limits.longestIdleMs,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
    });
  }

  /** Whether an attempt may still be given to it. The far side may have closed it all the same. */
  isUsable(now: number, ageMs: number): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded && now - this.#bornAt < ageMs;
  }

  /** Whether the far side has said that nothing more will come. */
  get hasEnded(): boolean {
    return this.#socket.readableEnded;
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  destroy(): void {
    this.client.destroy(null, () => {});
    // undici does not know a socket yet that no request has asked it to take.
    this.#socket.destroy();
  }
}

/** Lets the guard see what arrives before undici does: `push` is where the stream's source hands it over. */
function watch(socket: Socket, guard: HeadGuard): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    const fault = chunk instanceof Uint8Array ? guard.take(chunk) : undefined;
    if (fault === undefined) return push(chunk, encoding);
    socket.destroy(new HeadRefused(fault));
    return false;
  };
}
