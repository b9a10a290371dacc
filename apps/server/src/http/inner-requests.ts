import { AsyncLocalStorage } from "node:async_hooks";
import { Socket } from "node:net";
import type { FastifyInstance, FastifyRequest } from "fastify";

/** The request for which the one that is under way is made. */
const outerRequests = new AsyncLocalStorage<FastifyRequest>();

declare module "fastify" {
  interface FastifyRequest {
    /**
     * The request of a caller for which this one is made within the process. Its caller makes this one too: who that is, and
     * its rate, were checked with the outer request. The inner one is neither counted nor logged.
     */
    outer: FastifyRequest | undefined;
    /** How a request that carries others is counted and logged. */
    recordedAs: RecordedAs | undefined;
  }
}

/** What a request of one route asked for. */
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

/** Lets requests be made within the process, of which each hook can see for whom they are. To be called before other hooks are added. */
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

/** Answers a request as if the caller of `outer` had sent it: the same checks, handler and errors, without a connection. */
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
