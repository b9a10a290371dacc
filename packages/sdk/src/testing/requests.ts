import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "./answer.ts";
import type { Operation } from "./contract.generated.ts";
import { checksum } from "./lists.ts";
import { type ScriptedAnswer, scriptedAnswer, type Scripts } from "./script.ts";
import { type Incoming, match, type Parts, serve } from "./service.ts";

/* How requests reach a fake of the service, and are recorded: by its `fetch` in the same process, or over HTTP. */

/** A request that the fake got. */
export interface SeenRequest {
  /** The operation, such as `GET /v1/rides/:id`; undefined for an unknown path or method. */
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly url: string;
  /** Names in lower case; without `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it was sent; empty when there was none. */
  readonly body: string;
  /** The answer's status, which is 200 even if the caller got a 304; undefined if there was no answer. */
  status: number | undefined;
}

/** Thrown for a scripted `reset` or `lost`: the connection breaks. */
class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Answers requests by the test's scripts (script.ts) and the service's rules (service.ts), and records them. */
export type Requests = ReturnType<typeof createRequests>;

export function createRequests(parts: Parts, scripts: Scripts) {
  const seen: SeenRequest[] = [];
  let answered = 0;
  return {
    seen: seen as readonly SeenRequest[],
    /**
     * Answers a request.
     * @param signal ends the wait for a scripted delay
     * @throws ConnectionLost; the signal's reason
     */
    async answer(incoming: Incoming, signal: AbortSignal): Promise<Answer> {
      const { method, url, body } = incoming;
      const headers = Object.fromEntries([...incoming.headers].filter(([name]) => name !== "authorization"));
      const operation = match(incoming)?.operation;
      const request: SeenRequest = { operation, method, url: url.href, headers, body, status: undefined };
      seen.push(request);
      const answer = await follow(parts, incoming, scripts.next(request), signal);
      request.status = answer.status;
      const date = new Date(parts.city.now()).toUTCString();
      const added = {
        "content-type": "application/json",
        date,
        "request-id": `req_${String(++answered).padStart(6, "0")}`,
      };
      return conditional(incoming, { ...answer, headers: { ...added, ...answer.headers } });
    },
  };
}

/** Answers a request as its step of a script says. */
async function follow(parts: Parts, incoming: Incoming, step: ScriptedAnswer, signal: AbortSignal): Promise<Answer> {
  signal.throwIfAborted();
  if (step === "reset") throw new ConnectionLost("read ECONNRESET");
  if (step === "hang") await wait(Infinity, signal);
  if (typeof step === "object" && step.delay !== undefined) await wait(step.delay, signal);
  const instead = typeof step === "object" && "status" in step ? scriptedAnswer(step) : undefined;
  const answer = serve(parts, incoming, instead);
  if (step === "lost") throw new ConnectionLost("read ECONNRESET");
  return answer;
}

/** Waits some milliseconds. @throws the signal's reason */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms < Infinity ? setTimeout(resolve, ms) : undefined;
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

/**
 * Adds an `ETag` to a successful read with a key, or answers 304 if the caller's copy is current. Answers of endpoints
 * that need no key, such as /healthz, have no rate limit and get no tag.
 */
function conditional({ method, headers: sent }: Incoming, { status, headers, body }: Answer): Answer {
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead || status !== 200 || headers["ratelimit"] === undefined) return { status, headers, body };
  const etag = `W/"${checksum(body)}"`;
  const { "content-type": type = "", ...others } = headers;
  const tagged = { ...others, etag, "cache-control": "private, no-cache", vary: "authorization, accept-encoding" };
  const known = sent.get("if-none-match")?.split(",") ?? [];
  // Tags are compared weakly: a tag without `W/` counts as the same.
  const isKnown = known.some((tag) => tag.trim() === "*" || tag.trim().replace(/^(?!W\/)/, "W/") === etag);
  if (isKnown) return { status: 304, headers: tagged, body: "" };
  return { status, headers: { ...tagged, "content-type": type }, body };
}

/** A `fetch` that calls a fake. Nothing leaves the process. */
export type FakeFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Statuses whose answers have no body. */
const BODILESS = [204, 205, 304];

/** Creates the `fetch` of a fake. @param baseUrl the only address that can be reached; others fail, as without a network */
export function createFetch(requests: Requests, baseUrl: string): FakeFetch {
  const { host } = new URL(baseUrl);
  return async (input, init) => {
    const request = new Request(input, init);
    const { method, headers, signal } = request;
    const url = new URL(request.url);
    signal.throwIfAborted();
    if (url.host !== host) {
      throw networkError(`the fake answers for ${baseUrl} only, not for ${url.origin}`, "ENOTFOUND");
    }
    const incoming = { method, url, headers, body: await request.text() };
    const answer = await requests.answer(incoming, signal).catch((error: unknown) => {
      throw error instanceof ConnectionLost ? networkError(error.message, "ECONNRESET") : error;
    });
    const { status } = answer;
    const body = method === "HEAD" || BODILESS.includes(status) ? null : answer.body;
    const response = new Response(body, { status, headers: answer.headers });
    // The constructor cannot set the address, which the response of a real `fetch` has.
    Object.defineProperty(response, "url", { value: request.url });
    return response;
  };
}

/** Returns the error that `fetch` throws when there is no answer. */
function networkError(message: string, code: string): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
}

/** A fake that listens. */
export interface FakeServer {
  /** The address `http://127.0.0.1:<port>`, for the client's `baseUrl`. */
  readonly url: string;
  /** Stops listening, and closes all connections. */
  close(): Promise<void>;
}

/** The options of `listen`. */
export interface ListenOptions {
  /** Default: any free port. */
  readonly port?: number | undefined;
  /** Answers a request instead of the fake; undefined: the fake answers. */
  readonly instead?: ((request: Incoming) => Promise<Answer | undefined>) | undefined;
}

/**
 * Lets a fake listen on this machine, for programs outside the test's process. Node, Deno and Bun only.
 *
 * @throws Error if the platform cannot listen, or the port is taken
 */
export async function listen(requests: Requests, { port = 0, instead }: ListenOptions): Promise<FakeServer> {
  // Loaded at run time, because an `import` of node:http would make a browser's bundle fail.
  const http = globalThis.process?.getBuiltinModule?.("node:http");
  if (http === undefined) throw new Error("listen needs node:http: Node 20.16, 22.3 or newer, Deno or Bun");
  let url = "";
  const server = http.createServer((request, response) => {
    // It fails for a scripted `reset` or `lost`, and when the caller has given up.
    respond({ requests, instead }, url, request, response).catch(() => response.destroy());
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

/** Answers one request of the server: by `instead`, or by the fake. @param baseUrl the server's own address */
async function respond(
  { requests, instead }: { readonly requests: Requests; readonly instead: ListenOptions["instead"] },
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
  const answer = (await instead?.(incoming)) ?? (await requests.answer(incoming, controller.signal));
  response.writeHead(answer.status, answer.headers).end(answer.body);
}
