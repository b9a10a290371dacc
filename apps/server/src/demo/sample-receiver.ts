import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import type { Delivery } from "@bikeshare/webhooks";
import { createReceiver, type ReceiverOptions } from "@bikeshare/webhooks/fetch";

/** A partner's receiver as one would write it, on this machine's loopback. */
export interface SampleReceiver {
  /** Where it listens; the port differs at each start. */
  readonly url: string;
  readonly port: number;
  /** Starts accepting deliveries signed with these secrets; before that it answers 503. */
  expect(secrets: readonly string[], options: Pick<ReceiverOptions, "onError">): void;
  close(): Promise<void>;
}

const PATH = "/sample-receiver";

/** Whether a URL is that of a sample receiver, perhaps of an earlier start. */
export function isSampleReceiver(url: string): boolean {
  const { hostname, pathname } = new URL(url);
  return hostname === "127.0.0.1" && pathname === PATH;
}

/** @param onDelivery is called with each verified delivery */
export async function startSampleReceiver(onDelivery: (delivery: Delivery) => void): Promise<SampleReceiver> {
  let receive: ((request: Request) => Promise<Response>) | undefined;
  const server = createServer((request, response) => {
    const answered = receive === undefined ? Promise.resolve(new Response(null, { status: 503 })) : take(request);
    answered.then((answer) => send(answer, response)).catch(() => response.destroy());
  });

  async function take(request: IncomingMessage): Promise<Response> {
    const body = new Uint8Array(await buffer(request));
    const headers = { "service-signature": String(request.headers["service-signature"] ?? "") };
    const method = request.method ?? "GET";
    const whole = new Request(url, { method, headers, ...(method === "POST" ? { body } : {}) });
    return receive === undefined ? new Response(null, { status: 503 }) : receive(whole);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the sample receiver has no port");
  const url = `http://127.0.0.1:${address.port}${PATH}`;
  return {
    url,
    port: address.port,
    expect(secrets, options) {
      receive = createReceiver({ ...options, secrets, onDelivery });
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.end(await answer.text());
}
