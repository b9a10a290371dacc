import type * as openApi from "@bikeshare/contract/openapi";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { sendKept } from "./kept-body.ts";
import { type CodedBody, codedBody } from "./response-body.ts";

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
  const json = (make: (generator: Generator) => object) => async () =>
    codedBody(JSON.stringify(make(await loadGenerator())), ["br", "gzip"]);
  const partners = (readers: "clients" | "validators") =>
    kept({
      type: "application/json",
      make: json(({ createOpenApiDocument }) => createOpenApiDocument({ baseUrl: baseUrl(), version, readers })),
    });
  const [closed, open] = [partners("clients"), partners("validators")];
  app.get("/openapi.json", (request, reply) => {
    const isOpen = "open" in (request.query as object);
    return (isOpen ? open : closed)(request, reply);
  });
  serveKept(app, "/openapi/operator.json", {
    type: "application/json",
    make: json(({ createOperatorOpenApiDocument }) => createOperatorOpenApiDocument({ baseUrl: baseUrl(), version })),
  });
  serveKept(app, "/openapi/gbfs.json", {
    type: "application/json",
    make: json(({ createGbfsOpenApiDocument }) => createGbfsOpenApiDocument({ baseUrl: baseUrl(), version })),
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
      headers: pageSecurityHeaders,
    });
    serveKept(app, startPath(audience), { type, make: () => referenceStart(audience) });
  }
  serveKept(app, "/docs/js/scalar.js", { type, make: referenceProgram });
  // A path of our own: what the caller writes as its host must not decide where it is sent.
  app.get("/docs/", (_request, reply) => reply.code(308).header("location", "/docs").send());
}

/** How long whom to tell may be believed: RFC 9116 asks for less than a year. */
const CONTACT_LIFETIME_MS = 180 * 24 * 60 * 60 * 1_000;

/** Says whom to tell of a weakness of this deployment (RFC 9116). */
export function serveSecurityContact(
  app: FastifyInstance,
  { contact, baseUrl, clock }: { contact: string; baseUrl: () => string; clock: () => number },
): void {
  const path = "/.well-known/security.txt";
  app.get(path, (_request, reply) => {
    const expires = `${new Date(clock() + CONTACT_LIFETIME_MS).toISOString().slice(0, 10)}T00:00:00Z`;
    return reply
      .header("content-type", "text/plain; charset=utf-8")
      .header("x-content-type-options", "nosniff")
      .header("cache-control", `public, max-age=${MAX_AGE_SECONDS}`)
      .send(`Contact: ${contact}\nExpires: ${expires}\nCanonical: ${baseUrl()}${path}\n`);
  });
}

type Generator = typeof openApi;

/** Loaded with the first document that is asked for: a start need not wait for it, nor a process without readers keep it. */
function loadGenerator(): Promise<Generator> {
  return import("@bikeshare/contract/openapi");
}

interface KeptDocument {
  readonly type: string;
  readonly make: () => CodedBody | Promise<CodedBody>;
  readonly headers?: Readonly<Record<string, string>>;
}

function serveKept(app: FastifyInstance, path: string, document: KeptDocument): void {
  app.get(path, kept(document));
}

/** Serves a document that is made when it is first asked for, because the base address is known only then. */
function kept({ type, make, headers = {} }: KeptDocument) {
  let made: Promise<CodedBody> | undefined;
  return async (request: FastifyRequest, reply: FastifyReply) => {
    made ??= Promise.resolve(make());
    reply
      .header("content-type", type)
      .header("x-content-type-options", "nosniff")
      .header("cache-control", `public, max-age=${MAX_AGE_SECONDS}`)
      .headers(headers);
    return sendKept(await made, request, reply);
  };
}

/** Whom a page of the reference is for. Partners are not shown what they cannot call. */
const references = {
  partners: {
    title: "Bike-Sharing Data Service: reference",
    document: "/openapi.json",
    sources: [
      { title: "For partners", slug: "partners", url: "/openapi.json" },
      { title: "Public feeds (GBFS)", slug: "gbfs", url: "/openapi/gbfs.json" },
    ],
  },
  operator: {
    title: "Bike-Sharing Data Service: the operator's interface",
    document: "/openapi/operator.json",
    sources: [{ title: "For the operator's backend", slug: "operator", url: "/openapi/operator.json" }],
  },
};
type Audience = keyof typeof references;

const configuration = {
  // Nothing is fetched from anywhere else: no fonts, no proxy, no usage reports.
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  showDeveloperTools: "never" as const,
  agent: { disabled: true },
  mcp: { disabled: true },
};

/** The path of the program that starts a page of the reference. */
function startPath(audience: Audience): string {
  return `/docs/js/${audience}.js`;
}

/** A page of the reference. All that runs on it comes from files of ours, as its policy asks. */
function referencePage(audience: Audience): string {
  const { title, document } = references[audience];
  return `<!doctype html>
<html lang="en">
  <head>
    <title>${title}</title>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
  </head>
  <body>
    <div id="app"></div>
    <noscript>The reference needs JavaScript. The document behind it is <a href="${document}">${document}</a>.</noscript>
    <script src="/docs/js/scalar.js"></script>
    <script src="${startPath(audience)}"></script>
  </body>
</html>
`;
}

/** The program that starts a page of the reference. */
async function referenceStart(audience: Audience): Promise<CodedBody> {
  const { SCHEME } = await loadGenerator();
  const { sources } = references[audience];
  // There is one way to sign in, so nobody needs to choose it.
  const authentication = { preferredSecurityScheme: SCHEME };
  const options = JSON.stringify({ sources, authentication, ...configuration });
  // Requests are tried where the page was loaded: another name of the same service, such as localhost, is another origin.
  const text = `Scalar.createApiReference("#app", { ...${options}, servers: [{ url: location.origin }] });\n`;
  return codedBody(text, ["br", "gzip"]);
}

let program: Promise<CodedBody> | undefined;

/** The program that draws the reference, as its package has it: read once for the whole process. */
function referenceProgram(): Promise<CodedBody> {
  program ??= readProgram();
  return program;
}

/** The package shows its program over a route only: it is asked once, without a network. */
async function readProgram(): Promise<CodedBody> {
  const [{ default: fastify }, { default: scalar }] = await Promise.all([
    import("fastify"),
    import("@scalar/fastify-api-reference"),
  ]);
  const app = fastify();
  await app.register(scalar, { routePrefix: "/docs", configuration: { content: {}, ...configuration } });
  const { statusCode, rawPayload } = await app.inject("/docs/js/scalar.js");
  await app.close();
  if (statusCode !== 200) throw new Error(`the program of the reference could not be read: ${statusCode}`);
  return codedBody(rawPayload, ["br", "gzip"]);
}

/**
 * What the page may do: people paste keys into it. It runs files of ours only, asks this service only, and stands in no
 * other page's frame.
 */
const pageSecurityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    // The reference makes its styles as it runs.
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};
