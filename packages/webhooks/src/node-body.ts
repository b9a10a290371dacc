import { createBodyBuffer, type RawBody, TOO_LARGE, type TooLarge } from "./raw-body.ts";
import { WebhookVerificationError } from "./verification-error.ts";

type StreamEvent = "data" | "end" | "error" | "close";

/** The parts of a Node stream that are used. */
export interface NodeStream {
  on(event: StreamEvent, listener: (value: unknown) => void): unknown;
  removeListener(event: StreamEvent, listener: (value: unknown) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  readonly readableDidRead?: boolean;
  readonly destroyed?: boolean;
}

/**
 * Returns the raw body of a request: the one that a parser has kept in `rawBody` or `body`, or the content of its stream.
 *
 * @param advice the end of the error's message: what to do if a parser has read the stream and kept no bytes
 * @throws WebhookVerificationError `body_not_raw`; the stream's error
 */
export async function readNodeBody(
  request: object,
  stream: NodeStream | undefined,
  maxBytes: number,
  advice: string,
): Promise<RawBody | TooLarge> {
  const kept = keptBody(request);
  if (kept !== undefined) return byteLength(kept) > maxBytes ? TOO_LARGE : kept;
  if (stream !== undefined && stream.readableDidRead !== true) return readStream(stream, maxBytes);
  throw new WebhookVerificationError(
    "body_not_raw",
    `The request's body was read before the receiver. A signature is valid for the exact bytes only: ${advice}`,
  );
}

/** Returns the bytes or the text that a parser or a platform has kept; undefined: there are none, or they were parsed. */
function keptBody(request: object): string | Uint8Array | undefined {
  for (const field of ["rawBody", "body"]) {
    const kept: unknown = Reflect.get(request, field);
    if (isBytes(kept) || (typeof kept === "string" && kept !== "")) return kept;
  }
  return undefined;
}

/** Tells whether a value is a Uint8Array, such as a Buffer. `instanceof` would miss those of other realms. */
function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === "[object Uint8Array]";
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === "string" ? new TextEncoder().encode(body).length : body.length;
}

const events = ["data", "end", "error", "close"] as const;

/** Reads a stream into memory. A stream that is too large is paused, not destroyed, so that the request can be answered. */
function readStream(stream: NodeStream, maxBytes: number): Promise<Uint8Array | TooLarge> {
  const body = createBodyBuffer(maxBytes);
  return new Promise((resolve, reject) => {
    const finish = (conclude: () => void) => {
      for (const event of events) stream.removeListener(event, listeners[event]);
      conclude();
    };
    const fail = (message: string) => finish(() => reject(new Error(message)));
    const listeners = {
      data: (chunk: unknown) => {
        if (!isBytes(chunk)) return fail("the request's stream yields strings: do not call setEncoding on it");
        if (body.add(chunk)) return;
        stream.pause();
        finish(() => resolve(TOO_LARGE));
      },
      end: () => finish(() => resolve(body.bytes())),
      error: (error: unknown) =>
        finish(() => reject(error instanceof Error ? error : new Error("the request's stream failed"))),
      close: () => fail("the request ended before its body did"),
    };
    for (const event of events) stream.on(event, listeners[event]);
    // A stream that was destroyed before has no more events.
    if (stream.destroyed === true) listeners.close();
    else stream.resume();
  });
}
