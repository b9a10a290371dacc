import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** A received request. The body is unchanged, byte for byte. */
export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The webhook receiver of a partner. It records the requests, and answers as the test sets. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** The response to all further requests. */
  answer: Answer;
  close(): Promise<void>;
}

/** Starts a receiver on loopback that answers 204. */
export async function startReceiver(answer: Answer = { status: 204 }): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(receiver.answer.status, receiver.answer.headers).end(receiver.answer.body);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    received,
    answer,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
  return receiver;
}
