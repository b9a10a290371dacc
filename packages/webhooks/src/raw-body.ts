import { WebhookVerificationError } from "./verification-error.ts";

/** A body exactly as it came over the wire: its bytes, or their text in UTF-8. */
export type RawBody = string | Uint8Array | ArrayBuffer;

/** @throws WebhookVerificationError `body_not_raw` */
export function requireRawBody(body: unknown): asserts body is RawBody {
  if (typeof body === "string" || ArrayBuffer.isView(body) || isArrayBuffer(body)) return;
  throw new WebhookVerificationError("body_not_raw", describeMistake(body));
}

/** The bytes of a body, not copied. Views are recognized by what they are, not by their class: test runners and workers have classes of their own. */
export function bytesOf(body: Uint8Array | ArrayBuffer): Uint8Array {
  return ArrayBuffer.isView(body)
    ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
    : new Uint8Array(body);
}

function isArrayBuffer(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object ArrayBuffer]";
}

/** Whether something has a body to be read: a request, a response, a blob, or a stream of either kind. */
function isUnread(value: object): boolean {
  return ["arrayBuffer", "getReader", "pipe"].some((method) => typeof Reflect.get(value, method) === "function");
}

function describeMistake(body: unknown): string {
  if (body === undefined || body === null) {
    return "There is no body: nothing read it, or something read it before. Pass on the bytes of the request as they came.";
  }
  if (body instanceof Promise) return "The body is a promise: await it first.";
  if (typeof body === "object" && isUnread(body)) {
    return "The body is a request, a stream or a blob that nothing has read: pass on what it holds, as in `await request.text()`.";
  }
  if (typeof body === "object" && Array.isArray(Reflect.get(body, "data"))) {
    return "The body is bytes that went through JSON, as in a queue: make them again, new Uint8Array(body.data).";
  }
  const what = typeof body === "object" ? "an object" : `a ${typeof body}`;
  return (
    `The body is ${what}, not the text or bytes that came over the wire: it was probably parsed already. ` +
    "Signatures hold for the exact bytes, so verify before any JSON parser sees the request."
  );
}
