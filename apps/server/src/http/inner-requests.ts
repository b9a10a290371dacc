import { AsyncLocalStorage } from "node:async_hooks";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";

/** The outer request on whose behalf the present request is made. */
const outerRequests = new AsyncLocalStorage<FastifyRequest>();

declare module "fastify" {
  interface FastifyRequest {
    /**
     * The outer request, when this one is made within the process on its behalf. The caller and the rate limit were
     * checked with the outer request; this one is neither counted nor logged.
     */
    outer: FastifyRequest | undefined;
    /** How to count and log a request that carries an inner one. */
    recordedAs: RecordedAs | undefined;
  }
}

/** What a request was for, when its route does not tell. */
interface RecordedAs {
  /** One of a closed list: `tools/call list_rides`. */
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

export interface InnerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number | readonly string[] | undefined>>;
  readonly body: string;
}

/**
 * Allows requests within the process, and shows hooks the outer request of each. Call it before other hooks are added.
 */
export function allowInnerRequests(app: FastifyInstance): void {
  app.decorateRequest("outer");
  app.decorateRequest("recordedAs");
  app.addHook("onRequest", (request, _reply, done) => {
    const outer = outerRequests.getStore();
    // What comes over a connection is nobody's inner request, in whatever context it is read.
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
  // The request begins when its answer is waited for, which must be within the outer one's context.
  const answer = await outerRequests.run(outer, async () =>
    app.inject({ method, url, headers: { ...headers, ...type }, ...payload }),
  );
  return { status: answer.statusCode, headers: answer.headers, body: answer.payload };
}
