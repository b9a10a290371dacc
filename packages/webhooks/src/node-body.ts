import { createCollector, type TooLarge, tooLarge } from "./collect.ts";
import type { RawBody } from "./raw-body.ts";
import { WebhookVerificationError } from "./verification-error.ts";

type StreamEvent = "data" | "end" | "error" | "close";

/** What is used of a readable stream of Node. */
export interface NodeStream {
  on(event: StreamEvent, listener: (value: unknown) => void): unknown;
  removeListener(event: StreamEvent, listener: (value: unknown) => void): unknown;
  pause(): unknown;
  resume(): unknown;
  readonly readableDidRead?: boolean;
}

/**
 * The raw body of a request: what something before us has kept of it in `rawBody` or `body`, or else its stream.
 *
 * @param advice what to do where a parser has read the stream and kept no bytes
 * @throws WebhookVerificationError `body_not_raw`, and what the stream fails with
 */
export async function readNodeBody(
  request: object,
  stream: NodeStream | undefined,
  maxBytes: number,
  advice: string,
): Promise<RawBody | TooLarge> {
  const kept = keptBody(request);
  if (kept !== undefined) return kept;
  if (stream !== undefined && stream.readableDidRead !== true) return readStream(stream, maxBytes);
  throw new WebhookVerificationError(
    "body_not_raw",
    `Something has read the request's body before the receiver. Signatures hold for the exact bytes: ${advice}`,
  );
}

function keptBody(request: object): RawBody | undefined {
  for (const field of ["rawBody", "body"]) {
    const kept: unknown = Reflect.get(request, field);
    if (kept instanceof Uint8Array || (typeof kept === "string" && kept !== "")) return kept;
  }
  return undefined;
}

/** Reads a stream in memory. Leaves one that is too large paused where it stands, so that it can still be answered. */
function readStream(stream: NodeStream, maxBytes: number): Promise<Uint8Array | TooLarge> {
  const body = createCollector(maxBytes);
  return new Promise((resolve, reject) => {
    const settle = (conclude: () => void) => {
      for (const event of events) stream.removeListener(event, listeners[event]);
      conclude();
    };
    const fail = (message: string) => settle(() => reject(new Error(message)));
    const listeners = {
      data: (chunk: unknown) => {
        if (!(chunk instanceof Uint8Array))
          return fail("the request's stream gives text: do not call setEncoding on it");
        if (body.add(chunk)) return;
        stream.pause();
        settle(() => resolve(tooLarge));
      },
      end: () => settle(() => resolve(body.bytes())),
      error: (error: unknown) => settle(() => reject(error instanceof Error ? error : new Error("the request failed"))),
      close: () => fail("the request ended before its body did"),
    };
    for (const event of events) stream.on(event, listeners[event]);
    stream.resume();
  });
}

const events = ["data", "end", "error", "close"] as const;
