import type * as openApi from "@bikeshare/contract/openapi";
import type { FastifyInstance } from "fastify";
import { serveReference } from "./docs/reference.ts";
import { serveGuides } from "./docs/serve-guides.ts";
import { kept, MAX_AGE_SECONDS, serveKept } from "./kept-document.ts";
import { codedBody } from "./response-body.ts";

export interface DocumentOptions {
  readonly baseUrl: () => string;
  readonly version: string;
  /** Whether the guides and the reference are served at /docs. */
  readonly hasReference: boolean;
  /** Whether cities are served (MDS). They have a separate document and reference. */
  readonly mds?: boolean;
}

/**
 * Serves the OpenAPI documents: /openapi.json for partners, /openapi/operator.json for the operator's backend,
 * /openapi/sandbox.json for partners' tests, /openapi/mds.json for cities and /openapi/gbfs.json for everybody. Serves,
 * below /docs, the guides and a reference made from the documents. Its pages load nothing from other hosts. All but the
 * results of a search are made at their first request, and kept in memory (`kept`).
 */
export function serveDocuments(
  app: FastifyInstance,
  { baseUrl, version, hasReference, mds = false }: DocumentOptions,
): void {
  const json = (make: (generator: Generator) => object) => async () =>
    codedBody(JSON.stringify(make(await loadGenerator())), ["br", "gzip"]);
  const partners = (readers: "clients" | "validators") =>
    kept({
      type: "application/json",
      make: json(({ createOpenApiDocument }) => createOpenApiDocument({ baseUrl: baseUrl(), version, readers })),
    });
  // /openapi.json?open describes answers that may have fields and values newer than the document, for validators. Code
  // for clients is generated from the document without `?open`.
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
  serveKept(app, "/openapi/sandbox.json", {
    type: "application/json",
    make: json(({ createSandboxOpenApiDocument }) => createSandboxOpenApiDocument({ baseUrl: baseUrl(), version })),
  });
  if (mds) {
    serveKept(app, "/openapi/mds.json", {
      type: "application/json",
      make: json(({ createMdsOpenApiDocument }) => createMdsOpenApiDocument({ baseUrl: baseUrl(), version })),
    });
  }
  if (!hasReference) return;
  const options = () => ({ baseUrl: baseUrl(), version });
  const documents = {
    partners: async () => (await loadGenerator()).createOpenApiDocument(options()),
    feeds: async () => (await loadGenerator()).createGbfsOpenApiDocument(options()),
    operator: async () => (await loadGenerator()).createOperatorOpenApiDocument(options()),
    cities: async () => (await loadGenerator()).createMdsOpenApiDocument(options()),
  };
  serveReference(app, mds, async (audience) =>
    audience === "partners" ? [await documents.partners(), await documents.feeds()] : [await documents[audience]()],
  );
  serveGuides(app, { baseUrl, ...documents });
}

/** How long the security contact is valid: RFC 9116 recommends less than a year. */
const CONTACT_LIFETIME_MS = 180 * 24 * 60 * 60 * 1_000;

/** Serves security.txt, which says whom to contact about a vulnerability of this deployment (RFC 9116). */
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

/** Loads the generator when a document is first requested, so that a start does not wait for it and memory is saved. */
function loadGenerator(): Promise<Generator> {
  return import("@bikeshare/contract/openapi");
}
