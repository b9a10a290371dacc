import { Agent, request } from "undici";
import type { Transport } from "../workload/requests.ts";

/** Requests from many addresses, as from many callers: the balancer bounds what one address may send. */
export interface Callers {
  readonly send: Transport;
  close(): Promise<void>;
}

/** 500 requests in 10 s and 100 connections are what the balancer grants each. */
const ADDRESSES = 64;
const CONNECTIONS_OF_EACH = 80;

export function createCallers(): Callers {
  const agents = Array.from({ length: ADDRESSES }, (_, n) => {
    const localAddress = `127.0.1.${n + 1}`;
    return new Agent({ connections: CONNECTIONS_OF_EACH, localAddress, connect: { rejectUnauthorized: false } });
  });
  let next = 0;
  return {
    send: async (url, init) => {
      const dispatcher = agents[next++ % ADDRESSES];
      const { statusCode, headers, body } = await request(url, { ...init, ...(dispatcher && { dispatcher }) });
      const text = await body.text();
      const header = (name: string) => {
        const value = headers[name];
        return typeof value === "string" ? value : null;
      };
      return { status: statusCode, headers: { get: header }, text: () => Promise.resolve(text) };
    },
    close: async () => {
      await Promise.all(agents.map((agent) => agent.destroy()));
    },
  };
}
