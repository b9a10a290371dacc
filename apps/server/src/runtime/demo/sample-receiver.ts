import { once } from "node:events";
import { createServer } from "node:http";
import type { Delivery } from "@bikeshare/webhooks";
import { createReceiver, type ReceiverOptions } from "@bikeshare/webhooks/express";

/** A partner's receiver as one would write it, on this machine's loopback. */
export interface SampleReceiver {
  /** The address of the receiver; the port differs at each start. */
  readonly url: string;
  /** Starts accepting deliveries signed with these secrets; before that it answers 503. */
  expect(secrets: readonly string[], options: Pick<ReceiverOptions, "onError">): void;
  close(): Promise<void>;
}

const PATH = "/sample-receiver";

/** Tells whether a URL is that of a sample receiver, perhaps of an earlier start. */
export function isSampleReceiver(url: string): boolean {
  const { hostname, pathname } = new URL(url);
  return hostname === "127.0.0.1" && pathname === PATH;
}

/** @param onDelivery is called with each verified delivery */
export async function startSampleReceiver(onDelivery: (delivery: Delivery) => void): Promise<SampleReceiver> {
  let receive: ReturnType<typeof createReceiver> | undefined;
  const server = createServer((request, response) => {
    if (receive === undefined) response.writeHead(503).end();
    else receive(request, response, () => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the sample receiver has no port");
  return {
    url: `http://127.0.0.1:${address.port}${PATH}`,
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
