import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { LiveEvent } from "./live-hub.ts";

/** Bytes that may wait for a slow reader. Beyond them the stream ends, and the page connects again. */
const MAX_WAITING_BYTES = 64 * 1024;

/** A response that stays open, in the form of server-sent events. */
export interface EventStream {
  /** Sends the head and what has been sent so far. Only then, so that what fails before is answered as any error. */
  begin(): void;
  /** @returns false: too much waits for the reader */
  send(event: LiveEvent): boolean;
  heartbeat(): boolean;
  end(): void;
  onClosed(done: () => void): void;
}

/** What of Fastify's reply is needed here. */
interface StreamReply {
  readonly raw: ServerResponse;
  getHeaders(): object;
  /** From then on Fastify leaves the response alone. */
  hijack(): unknown;
}

export function openEventStream(reply: StreamReply): EventStream {
  const { raw } = reply;
  const waiting: string[] = [];
  let hasBegun = false;
  const write = (text: string): boolean => {
    if (!hasBegun) waiting.push(text);
    else if (!raw.writableEnded) raw.write(text);
    return raw.writableLength <= MAX_WAITING_BYTES;
  };
  return {
    begin: () => {
      reply.hijack();
      hasBegun = true;
      raw.writeHead(200, {
        ...(reply.getHeaders() as OutgoingHttpHeaders),
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        // Proxies that gather responses would hold events back.
        "x-accel-buffering": "no",
      });
      raw.write(`retry: 2000\n\n${waiting.join("")}`);
    },
    send: ({ id, name, data }) => write(`id: ${id}\nevent: ${name}\ndata: ${data}\n\n`),
    heartbeat: () => write(": still here\n\n"),
    end: () => {
      // A reader that does not read would never let the response end, and keep its connection for as long as it likes.
      if (raw.writableLength > 0) raw.destroy();
      else raw.end();
    },
    onClosed: (done) => {
      // Whoever has gone while the request was looked at is told of by no event any more.
      if (raw.closed) done();
      else raw.on("close", done);
    },
  };
}
