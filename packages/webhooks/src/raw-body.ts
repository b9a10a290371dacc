import { WebhookVerificationError } from "./verification-error.ts";

/** A body exactly as it was received: its bytes, or their text in UTF-8. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** @throws WebhookVerificationError `body_not_raw` */
export function requireRawBody(body: unknown): asserts body is RawBody {
  if (typeof body === "string" || ArrayBuffer.isView(body) || isArrayBuffer(body)) return;
  throw new WebhookVerificationError("body_not_raw", describeMistake(body));
}

/**
 * Returns the bytes of a body, without copying them. It does not use `instanceof`, because test runners and workers have
 * their own classes of views and buffers.
 */
export function bytesOf(body: Uint8Array | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(body)
    ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
    : new Uint8Array(body);
}

function isArrayBuffer(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object ArrayBuffer]";
}

/** Tells whether a value still has to be read: a request, a response, a blob, a web stream or a Node stream. */
function isUnread(value: object): boolean {
  return ["arrayBuffer", "getReader", "pipe"].some((method) => typeof Reflect.get(value, method) === "function");
}

function describeMistake(body: unknown): string {
  if (body === undefined || body === null) {
    return "There is no body: nothing has read it, or something read it before. Pass the bytes of the request as received.";
  }
  if (body instanceof Promise) return "The body is a promise: await it first.";
  if (typeof body === "object" && isUnread(body)) {
    return "The body is a request, a stream or a blob that nothing has read: pass its content, as in `await request.text()`.";
  }
  if (typeof body === "object" && Array.isArray(Reflect.get(body, "data"))) {
    return "The body is bytes that went through JSON, as in a queue: restore them with new Uint8Array(body.data).";
  }
  const type = typeof body === "object" ? "an object" : `a ${typeof body}`;
  return (
    `The body is ${type}, not the string or bytes that were received: it was probably parsed already. ` +
    "A signature is valid for the exact bytes only, so verify before any JSON parser reads the request."
  );
}

/** The result of reading a body that is too large. */
export const TOO_LARGE = Symbol("too large");
export type TooLarge = typeof TOO_LARGE;

/** Joins the chunks of a body. */
export interface BodyBuffer {
  /** Adds a chunk. @returns false if the body is too large; then nothing is kept any more */
  add(chunk: Uint8Array): boolean;
  /** Returns the joined chunks. Not to be called once a body was too large. */
  bytes(): Uint8Array;
}

/** @param maxBytes the largest body that is kept */
export function createBodyBuffer(maxBytes: number): BodyBuffer {
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    add(chunk) {
      length += chunk.length;
      if (length <= maxBytes) chunks.push(chunk);
      else chunks.length = 0;
      return length <= maxBytes;
    },
    bytes() {
      const body = new Uint8Array(length);
      let offset = 0;
      for (const chunk of chunks) {
        body.set(chunk, offset);
        offset += chunk.length;
      }
      return body;
    },
  };
}
