import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer } from "./answer.ts";
import type { Operation } from "./contract.generated.ts";
import { checksum } from "./lists.ts";
import { type ScriptedAnswer, scriptedAnswer, type Scripts } from "./script.ts";
import { type Incoming, match, type Parts, serve } from "./service.ts";

/** A request that the fake was sent. */
export interface SeenRequest {
  /** `GET /v1/rides/:id`; undefined for a path or a method that there is not. */
  readonly operation: Operation | undefined;
  readonly method: string;
  readonly url: string;
  /** Names in lower case; without `authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it came; empty when there was none. */
  readonly body: string;
  /** Of the answer; undefined where there was none. */
  status: number | undefined;
}

/** The connection broke: a scripted `reset` or `lost`. */
class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Answers requests as they come, and keeps what came. */
export type Requests = ReturnType<typeof createRequests>;

export function createRequests(parts: Parts, scripts: Scripts) {
  const seen: SeenRequest[] = [];
  let answered = 0;
  return {
    seen: seen as readonly SeenRequest[],
    /**
     * @param signal ends the wait for a late answer
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

/** Does what the script says. */
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

/** @throws the signal's reason */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms < Infinity ? setTimeout(resolve, ms) : undefined;
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

/** Gives data that was read an `ETag`; answers 304 where the caller has it already. */
function conditional({ method, headers: sent }: Incoming, { status, headers, body }: Answer): Answer {
  const isRead = method === "GET" || method === "HEAD";
  if (!isRead || status !== 200 || headers["ratelimit"] === undefined) return { status, headers, body };
  const etag = `W/"${checksum(body)}"`;
  const { "content-type": type = "", ...others } = headers;
  const tagged = { ...others, etag, "cache-control": "private, no-cache", vary: "authorization, accept-encoding" };
  const known = sent.get("if-none-match")?.split(",") ?? [];
  const isKnown = known.some((tag) => tag.trim() === "*" || tag.trim().replace(/^(?!W\/)/, "W/") === etag);
  if (isKnown) return { status: 304, headers: tagged, body: "" };
  return { status, headers: { ...tagged, "content-type": type }, body };
}

/** The platform's `fetch`, but for a fake: nothing leaves the process. */
export type FakeFetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Statuses whose answers have no body. */
const BODILESS = [204, 205, 304];

/** @param baseUrl other addresses cannot be reached: a test that asks for one finds out */
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
    Object.defineProperty(response, "url", { value: request.url });
    return response;
  };
}

/** What `fetch` throws where there is no answer. */
function networkError(message: string, code: string): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
}

/** A fake that listens. */
export interface FakeServer {
  /** Where: `http://127.0.0.1:<port>`, for `baseUrl`. */
  readonly url: string;
  /** Ends it, and the connections that it has. */
  close(): Promise<void>;
}

/** How a fake listens. */
export interface ListenOptions {
  /** Any that is free if not said. */
  readonly port?: number | undefined;
  /** Answers requests in place of the fake: those for which it gives an answer. */
  readonly instead?: ((request: Incoming) => Promise<Answer | undefined>) | undefined;
}

/**
 * Lets a fake listen on this machine, for programs that are not in the test's own process. Node, Deno and Bun only.
 *
 * @throws Error where the platform cannot listen, or the port is taken
 */
export async function listen(requests: Requests, { port = 0, instead }: ListenOptions): Promise<FakeServer> {
  // Asked for by name at run time: an import of it would keep this file out of a browser's bundle.
  const http = globalThis.process?.getBuiltinModule?.("node:http");
  if (http === undefined) throw new Error("listen needs node:http: Node 20.16, 22.3 or newer, Deno or Bun");
  let url = "";
  const server = http.createServer((request, response) => {
    // A scripted `reset` or `lost`, or a caller who has given up.
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
