import type { Socket } from "node:net";
import { Client } from "undici";
import { BoundedBody } from "./bounded-body.ts";
import { HeadGuard } from "./head-guard.ts";
import type { HeadViolation } from "./head-guard.ts";
import type { SenderLimits } from "./sender-limits.ts";

/** The head guard has ended a connection. */
export class InvalidResponseHeadError extends Error {
  readonly violation: HeadViolation;

  constructor(violation: HeadViolation) {
    super(violation);
    this.violation = violation;
  }
}

/**
 * Network buffers of this size and more are freed by hand. Lower costs a call for every ordinary answer; higher lets a
 * receiver that sends in pieces just below it leave 64 KiB of garbage in each attempt beside the 64 KiB that are kept.
 */
const LARGE_BUFFER = 2_048;

/** Subtracted from the idle time that a far side names, for the way there. */
const IDLE_MARGIN_MS = 1_000;

/** Is told of an answer what undici does not tell. */
export interface AnswerWatcher {
  /** Something has come, if only the beginning of a head. */
  onFirstByte(): void;
  /** A chunked body is whole and its trailers are not. Nothing of these is kept. */
  onLastChunk(): void;
}

/**
 * One checked connection to one origin, which carries one attempt at a time. undici speaks HTTP/1.1 over it and is never
 * let open another: a connection that is gone stays gone.
 */
export class Connection {
  readonly origin: string;
  readonly remoteAddress: string | null;
  readonly client: Client;
  readonly #head: HeadGuard;
  readonly #socket: Socket;
  readonly #bornAt: number;
  readonly #headBytes: number;
  /** What has come of a head that is not over. */
  #held: BoundedBody | undefined;
  #watcher: AnswerWatcher | undefined;
  #uses = 0;

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
    this.#head = new HeadGuard(limits);
    this.#headBytes = limits.headBytes;
    this.#watch();
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

  /** A request goes out. */
  begin(watcher: AnswerWatcher): void {
    this.#head.begin();
    this.#held = undefined;
    this.#watcher = watcher;
  }

  /** The attempt is over. Nothing of it is held on to while the connection waits for another. */
  end(): void {
    this.#uses++;
    this.#watcher = undefined;
  }

  /** Attempts that it has carried to their end. */
  get uses(): number {
    return this.#uses;
  }

  /** Whether an attempt may still be given to it. The far side may have closed it all the same. */
  isUsable(now: number, ageMs: number): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded && now - this.#bornAt < ageMs;
  }

  /** Whether the far side may not have read the last request yet: another would wait behind it. */
  get isWriting(): boolean {
    return this.#socket.writableLength > 0;
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

  /** Lets the guard see what arrives before undici does: `push` is where the stream's source hands it over. */
  #watch(): void {
    const socket = this.#socket;
    const push = socket.push.bind(socket);
    socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (!(chunk instanceof Uint8Array)) return push(chunk, encoding);
      this.#watcher?.onFirstByte();
      const violation = this.#head.take(chunk);
      if (violation !== undefined) {
        socket.destroy(new InvalidResponseHeadError(violation));
        return false;
      }
      const { informationalEnd, isInHead } = this.#head;
      if (informationalEnd > 0) this.#held = undefined;
      if (this.#watcher !== undefined && isInHead) return this.#hold(chunk.subarray(informationalEnd));
      const whole = this.#release(chunk, informationalEnd);
      const isWanted = push(whole, encoding);
      if (this.#head.isInTrailers || whole.length >= LARGE_BUFFER) process.nextTick(() => this.#afterRead(whole));
      return isWanted;
    };
  }

  /**
   * Keeps the beginning of a head until the rest has come. undici would put what it has of a header together anew with
   * each piece: 16 KiB in pieces of 16 bytes were 8 MB of garbage in each attempt.
   */
  #hold(chunk: Uint8Array): boolean {
    this.#held ??= new BoundedBody({ bodyBytes: this.#headBytes, pieces: Number.POSITIVE_INFINITY });
    this.#held.append(chunk);
    return true;
  }

  /**
   * A chunk behind what is held of its head, and without the informational heads (1xx) before it: undici fails an
   * answer that comes behind a 100, which servers may send unasked.
   */
  #release(chunk: Uint8Array, informationalEnd: number): Uint8Array {
    if (this.#held === undefined && informationalEnd === 0) return chunk;
    const held = this.#held?.bytes() ?? new Uint8Array(0);
    this.#held = undefined;
    const rest = chunk.subarray(informationalEnd);
    const whole = new Uint8Array(held.length + rest.length);
    whole.set(held);
    whole.set(rest, held.length);
    free(chunk);
    return whole;
  }

  /**
   * undici has read a chunk: the stream tells it of one in the tick that `push` asks for. It looks into it again only
   * for trailers, and these are not waited for.
   */
  #afterRead(chunk: Uint8Array): void {
    if (this.#socket.readableLength > 0) return;
    // Destroyed: it was no last chunk to undici.
    if (this.#head.isInTrailers && !this.#socket.destroyed) this.#watcher?.onLastChunk();
    free(chunk);
  }
}

/**
 * Frees a chunk's buffer at once, because garbage collection comes much later: among 500 attempts that each kept 64 KiB
 * of an answer, the buffers these had come in lay around as 30 MiB more.
 */
function free({ buffer, length }: Uint8Array): void {
  // A whole buffer is the chunk's own; others lie in one that Node shares out.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}
