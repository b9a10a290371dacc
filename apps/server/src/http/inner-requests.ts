import { AsyncLocalStorage } from "node:async_hooks";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";

/*
 * Inner requests: requests that this process makes itself, on behalf of an outer request that a caller has sent. A tool
 * of an agent (mcp/) calls its endpoint in this way.
 */

/** The outer request on whose behalf the present request is made. */
const outerRequests = new AsyncLocalStorage<FastifyRequest>();

declare module "fastify" {
  interface FastifyRequest {
    /**
     * The outer request, if this is an inner request that the process makes itself on behalf of the outer one. The caller
     * and the rate limit were checked with the outer request; an inner request is neither counted nor logged.
     */
    outer: FastifyRequest | undefined;
    /** How to count and log a request that carries an inner one. */
    recordedAs: RecordedAs | undefined;
  }
}

/** What a request was for, if its route does not show that. */
interface RecordedAs {
  /** A name from a fixed list, such as `tools/call list_rides`. */
  readonly name: string;
  /** The status of the inner request that decided the outcome. */
  readonly status: number;
}

/** A request of an endpoint that takes a partner's key. */
export interface InnerRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Path and query. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object | undefined;
}

/** The answer to an inner request, as a caller over the network would get it. */
export interface InnerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body: string;
}

/**
 * Allows inner requests (requests that the process makes itself on behalf of another one), and sets `outer` for each. Call
 * it before other hooks are added.
 */
export function allowInnerRequests(app: FastifyInstance): void {
  app.decorateRequest("outer");
  app.decorateRequest("recordedAs");
  app.addHook("onRequest", (request, _reply, done) => {
    const outer = outerRequests.getStore();
    // A request that comes over a connection is not an inner one, even if it is read in the context of an outer request.
    if (outer !== undefined && !(request.raw.socket instanceof Socket)) {
      request.outer = outer;
      request.id = outer.id;
    }
    done();
  });
}

/**
 * Answers a request within the process as if the caller of `outer` had sent it: with the same checks, handlers and
 * errors.
 */
export async function makeInnerRequest(
  app: FastifyInstance,
  outer: FastifyRequest,
  { method, url, headers = {}, body }: InnerRequest,
): Promise<InnerAnswer> {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const payload = body === undefined ? {} : { payload: JSON.stringify(body) };
  // `inject` begins the request only when its result is awaited, which must happen in the context of the outer request.
  const answer = await outerRequests.run(outer, async () =>
    app.inject({ method, url, headers: { ...headers, ...type }, ...payload }),
  );
  return { status: answer.statusCode, headers: answer.headers, body: answer.payload };
}
