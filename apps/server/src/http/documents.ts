import {
  createGbfsOpenApiDocument,
  createOpenApiDocument,
  createOperatorOpenApiDocument,
} from "@bikeshare/contract/openapi";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import fresh from "fresh";
import { type CodedBody, codedBody, inParts } from "./coded-body.ts";
import {
  type Audience,
  pageSecurityHeaders,
  referencePage,
  referenceProgram,
  referenceStart,
  startPath,
} from "./reference-page.ts";
import { vary } from "./vary.ts";

export interface DocumentOptions {
  readonly baseUrl: () => string;
  readonly version: string;
  /** Whether the reference is served at /docs. */
  readonly hasReference: boolean;
}

/**
 * Seconds for which anybody may keep a document without asking whether it changed. They change with the service's
 * version: more, and partners read about the one before for that long.
 */
const MAX_AGE_SECONDS = 300;

/**
 * Serves the OpenAPI documents, /openapi.json for partners, /openapi/operator.json for the operator's backend and
 * /openapi/gbfs.json for everybody, and a reference made from them, without any other host, at /docs and /docs/operator.
 */
export function serveDocuments(app: FastifyInstance, { baseUrl, version, hasReference }: DocumentOptions): void {
  const json = (make: () => object) => () => codedBody(JSON.stringify(make()), ["br", "gzip"]);
  serveKept(app, "/openapi.json", {
    type: "application/json",
    make: json(() => createOpenApiDocument({ baseUrl: baseUrl(), version })),
  });
  serveKept(app, "/openapi/operator.json", {
    type: "application/json",
    make: json(() => createOperatorOpenApiDocument({ baseUrl: baseUrl(), version })),
  });
  serveKept(app, "/openapi/gbfs.json", {
    type: "application/json",
    make: json(() => createGbfsOpenApiDocument({ baseUrl: baseUrl(), version })),
  });
  if (!hasReference) return;
  const type = "text/javascript; charset=utf-8";
  const pages: readonly (readonly [string, Audience])[] = [
    ["/docs", "partners"],
    ["/docs/operator", "operator"],
  ];
  for (const [path, audience] of pages) {
    serveKept(app, path, {
      type: "text/html; charset=utf-8",
      make: () => codedBody(referencePage(audience), ["br", "gzip"]),
      headers: () => pageSecurityHeaders(baseUrl()),
    });
    serveKept(app, startPath(audience), { type, make: () => codedBody(referenceStart(audience), ["br", "gzip"]) });
  }
  serveKept(app, "/docs/js/scalar.js", { type, make: referenceProgram });
  // A path of our own: what the caller writes as its host must not decide where it is sent.
  app.get("/docs/", (_request, reply) => reply.code(308).header("location", "/docs").send());
}

interface KeptDocument {
  readonly type: string;
  readonly make: () => CodedBody | Promise<CodedBody>;
  readonly headers?: () => Readonly<Record<string, string>>;
}

/** Serves a document that is made when it is first asked for, because the base address is known only then. */
function serveKept(app: FastifyInstance, path: string, { type, make, headers = () => ({}) }: KeptDocument): void {
  let kept: Promise<CodedBody> | undefined;
  app.get(path, async (request, reply) => {
    kept ??= Promise.resolve(make());
    reply
      .header("content-type", type)
      .header("x-content-type-options", "nosniff")
      .header("cache-control", `public, max-age=${MAX_AGE_SECONDS}`)
      .headers(headers());
    return sendKept(await kept, request, reply);
  });
}

async function sendKept(body: CodedBody, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  vary(reply, "accept-encoding");
  reply.header("etag", body.etag);
  if (fresh({ "if-none-match": request.headers["if-none-match"] }, { etag: body.etag })) {
    return reply.code(304).removeHeader("content-type").send();
  }
  const { bytes, coding } = await body.inCoding(request.headers["accept-encoding"]?.toString());
  if (coding !== undefined) reply.header("content-encoding", coding);
  reply.header("content-length", bytes.length);
  return reply.send(request.method === "HEAD" ? bytes : inParts(bytes));
}
