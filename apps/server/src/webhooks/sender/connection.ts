import type { Socket } from "node:net";
import { Client } from "undici";
import { BoundedBody } from "./bounded-body.ts";
import { ResponseGuard } from "./response-guard.ts";
import type { ResponseViolation } from "./response-guard.ts";
import type { SenderLimits } from "./sender-limits.ts";

/** The head guard has ended a connection. */
export class InvalidResponseError extends Error {
  readonly violation: ResponseViolation;

  constructor(violation: ResponseViolation) {
    super(violation);
    this.violation = violation;
  }
}

/**
 * Network buffers of this size and more are freed at once. Lower costs a call for every ordinary response; higher lets a
 * receiver that sends in pieces just below it leave 64 KiB of garbage in each attempt beside the 64 KiB that are kept.
 */
const LARGE_BUFFER_BYTES = 2_048;

/** Subtracted from the idle timeout that a receiver names, for the time that a request takes to reach it. */
const IDLE_MARGIN_MS = 1_000;

/** Is notified of what undici does not report about a response. */
export interface ResponseObserver {
  /** The first byte of a response has come. */
  onFirstByte(): void;
  /** The last chunk of a body has come, and its trailers have not. These are not kept. */
  onLastChunk(): void;
}

/**
 * One checked connection to one origin, which carries one attempt at a time. undici speaks HTTP/1.1 over it and may not
 * open another: its address would not be checked.
 */
export class Connection {
  readonly origin: string;
  readonly remoteAddress: string | null;
  readonly client: Client;
  readonly #guard: ResponseGuard;
  readonly #socket: Socket;
  readonly #openedAt: number;
  readonly #maxHeaderBytes: number;
  /** What has come of a header section that has not ended. */
  #pendingHead: BoundedBody | undefined;
  #observer: ResponseObserver | undefined;
  #requestCount = 0;

  constructor(
    socket: Socket,
    { origin }: URL,
    { remoteAddress, now }: { readonly remoteAddress: string | null; readonly now: number },
    limits: SenderLimits,
  ) {
    this.#socket = socket;
    this.origin = origin;
    this.remoteAddress = remoteAddress;
    this.#openedAt = now;
    this.#guard = new ResponseGuard(limits);
    this.#maxHeaderBytes = limits.maxHeaderBytes;
    this.#inspectReads();
    let isTaken = false;
    this.client = new Client(origin, {
      connect: (_options, callback) => {
        const isGone = isTaken;
        isTaken = true;
        // Asynchronously: undici continues with its queue only when the callback comes later.
        queueMicrotask(() =>
          isGone ? callback(new Error("The connection has been closed."), null) : callback(null, socket),
        );
      },
      allowH2: false,
      pipelining: 1,
      maxHeaderSize: limits.maxHeaderBytes,
      // The attempt has one timeout for everything; a second one of undici would only report it under another name.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: limits.idleTimeoutMs,
      keepAliveMaxTimeout: limits.maxIdleTimeoutMs,
      keepAliveTimeoutThreshold: IDLE_MARGIN_MS,
    });
  }

  /** A request is written next. */
  beginRequest(observer: ResponseObserver): void {
    this.#guard.begin();
    this.#pendingHead = undefined;
    this.#observer = observer;
  }

  /** The attempt has ended. Nothing of it is kept while the connection is idle. */
  endRequest(): void {
    this.#requestCount++;
    this.#observer = undefined;
  }

  /** How many attempts have ended on it. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** Whether another attempt may use it. The receiver may still have closed it. */
  isUsable(now: number, maxAgeMs: number): boolean {
    return !this.#socket.destroyed && !this.#socket.readableEnded && now - this.#openedAt < maxAgeMs;
  }

  /** Whether part of the last request is still unwritten: another request would wait behind it. */
  get isWriting(): boolean {
    return this.#socket.writableLength > 0;
  }

  /** Whether the receiver has ended the connection. */
  get hasEnded(): boolean {
    return this.#socket.readableEnded;
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  destroy(): void {
    this.client.destroy(null, () => {});
    // undici does not know the socket before the first request.
    this.#socket.destroy();
  }

  /**
   * Lets the guard see each chunk before undici parses it. `push` is where a socket hands over what it has read. A
   * listener could see the chunk, but not hold it back or shorten it.
   */
  #inspectReads(): void {
    const socket = this.#socket;
    const push = socket.push.bind(socket);
    socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (!(chunk instanceof Uint8Array)) return push(chunk, encoding);
      this.#observer?.onFirstByte();
      const violation = this.#guard.take(chunk);
      if (violation !== undefined) {
        socket.destroy(new InvalidResponseError(violation));
        return false;
      }
      const { informationalEnd, isInHead } = this.#guard;
      if (informationalEnd > 0) this.#pendingHead = undefined;
      if (this.#observer !== undefined && isInHead) return this.#holdBack(chunk.subarray(informationalEnd));
      const whole = this.#release(chunk, informationalEnd);
      const isWanted = push(whole, encoding);
      if (this.#guard.isInTrailers || whole.length >= LARGE_BUFFER_BYTES)
        process.nextTick(() => this.#afterRead(whole));
      return isWanted;
    };
  }

  /**
   * Keeps the beginning of a header section until the rest has come. undici concatenates the header again with each piece:
   * 16 KiB in pieces of 16 bytes leave 8 MB of garbage in each attempt.
   */
  #holdBack(chunk: Uint8Array): boolean {
    this.#pendingHead ??= new BoundedBody({
      maxBodyBytes: this.#maxHeaderBytes,
      maxBodyPieces: Number.POSITIVE_INFINITY,
    });
    this.#pendingHead.append(chunk);
    return true;
  }

  /**
   * The held-back beginning and the chunk, without the informational responses (1xx) before: undici fails a response that
   * follows a 100, which servers may send without being asked.
   */
  #release(chunk: Uint8Array, informationalEnd: number): Uint8Array {
    if (this.#pendingHead === undefined && informationalEnd === 0) return chunk;
    const held = this.#pendingHead?.bytes() ?? new Uint8Array(0);
    this.#pendingHead = undefined;
    const rest = chunk.subarray(informationalEnd);
    const whole = new Uint8Array(held.length + rest.length);
    whole.set(held);
    whole.set(rest, held.length);
    free(chunk);
    return whole;
  }

  /**
   * undici has parsed a chunk: it reads in the tick that `push` schedules, and needs the chunk again only for trailers,
   * which are not waited for.
   */
  #afterRead(chunk: Uint8Array): void {
    if (this.#socket.readableLength > 0) return;
    // A destroyed socket means that undici did not accept the last chunk.
    if (this.#guard.isInTrailers && !this.#socket.destroyed) this.#observer?.onLastChunk();
    free(chunk);
  }
}

/**
 * Frees a chunk's buffer at once, because the garbage collector comes much later: with 500 attempts that each keep 64 KiB
 * of a response, the buffers in which these came are 30 MiB more.
 */
function free({ buffer, length }: Uint8Array): void {
  // Only a buffer of the chunk's own may go; smaller chunks share one of Node's pool.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}
