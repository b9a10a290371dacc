import { createServer } from "node:net";
import type { Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TlsOptions } from "node:tls";

/** A webhook receiver on a raw socket, so that it can violate HTTP in any way. */
export interface RawReceiver {
  readonly port: number;
  readonly url: string;
  /** The number of connections that it has accepted so far. */
  readonly connections: number;
  /** All bytes that have arrived, by connection. */
  readonly received: readonly string[];
  /** The connection that was accepted last, while it is open. */
  last(): Socket | undefined;
  close(): Promise<void>;
}

export interface RawReceiverOptions {
  readonly host?: string;
  readonly port?: number;
  /** Uses TLS with these options, such as a certificate. */
  readonly tls?: TlsOptions;
}

/**
 * Starts a receiver.
 * @param onRequest called once for each request whose body has arrived (or, without a Content-Length, each head)
 * @param onConnect called for each connection, before anything has arrived
 */
export async function startReceiver(
  onRequest: (socket: Socket, nth: number) => void,
  { host = "127.0.0.1", port = 0, tls }: RawReceiverOptions = {},
  onConnect: (socket: Socket) => void = () => {},
): Promise<RawReceiver> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  let requests = 0;
  const onSocket = (socket: Socket): void => {
    const index = received.push("") - 1;
    let open = "";
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // Ignores errors, because the sender may close the connection at any moment.
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      const text = chunk.toString("latin1");
      received[index] += text;
      open += text;
      for (let end = endOfRequest(open); end !== -1; end = endOfRequest(open)) {
        open = open.slice(end);
        onRequest(socket, requests++);
      }
    });
    onConnect(socket);
  };
  const server = tls === undefined ? createServer(onSocket) : createTlsServer(tls, onSocket);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const bound = portOf(server);
  const hostname = host.includes(":") ? `[${host}]` : host;
  return {
    port: bound,
    url: `${tls === undefined ? "http" : "https"}://${hostname}:${bound}/hook?x=1`,
    get connections() {
      return received.length;
    },
    received,
    last: () => [...sockets].at(-1),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The receiver has no port.");
  return address.port;
}

/** Returns where the first request in a text ends; -1 if it is not complete. */
function endOfRequest(text: string): number {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return -1;
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? "0");
  const end = head + 4 + length;
  return text.length >= end ? end : -1;
}

/** Returns a minimal HTTP response. */
export function answer(status: string, body = "", headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, "", body];
  return lines.join("\r\n");
}
