import type { Requests } from "./requests.ts";
import { ConnectionLost } from "./requests.ts";

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
    if (url.host !== host)
      throw networkError(`the fake answers for ${baseUrl} only, not for ${url.origin}`, "ENOTFOUND");
    const body = await request.text();
    const { status, ...answer } = await requests
      .answer({ method, url, headers, body }, signal)
      .catch((thrown: unknown) => {
        if (thrown instanceof ConnectionLost) throw networkError(thrown.message, "ECONNRESET");
        throw thrown;
      });
    const response = new Response(method === "HEAD" || BODILESS.includes(status) ? null : answer.body, {
      status,
      headers: answer.headers,
    });
    Object.defineProperty(response, "url", { value: request.url });
    return response;
  };
}

/** What `fetch` throws where there is no answer. */
function networkError(message: string, code: string): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
}
