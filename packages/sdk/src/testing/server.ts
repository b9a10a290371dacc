import type { IncomingMessage, ServerResponse } from "node:http";
import { ConnectionLost, type Requests } from "./requests.ts";

/** A fake that listens. */
export interface FakeServer {
  /** Where: `http://127.0.0.1:<port>`, for `baseUrl`. */
  readonly url: string;
  /** Ends it, and the connections that it has. */
  close(): Promise<void>;
}

/**
 * Lets a fake listen on this machine, for programs that are not in the test's own process. Node, Deno and Bun only.
 *
 * @param port 0: any that is free
 * @throws Error where the platform cannot listen, or the port is taken
 */
export async function listen(requests: Requests, port: number): Promise<FakeServer> {
  // Asked for by name at run time: an import of it would keep this file out of a browser's bundle.
  const http = globalThis.process?.getBuiltinModule?.("node:http");
  if (http === undefined) throw new Error("listen needs node:http: Node 20.16, 22.3 or newer, Deno or Bun");
  let url = "";
  const server = http.createServer((request, response) => {
    answer(requests, url, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : port}`;
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  requests: Requests,
  baseUrl: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
  const controller = new AbortController();
  response.once("close", () => controller.abort());
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
  const { method = "GET", url = "/" } = request;
  const incoming = { method, url: new URL(baseUrl + url), headers, body };
  try {
    const { status, headers: answered, body: text } = await requests.answer(incoming, controller.signal);
    response.writeHead(status, answered).end(text);
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    request.socket.destroy();
  }
}
