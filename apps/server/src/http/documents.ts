import { createOpenApiDocument, createOperatorOpenApiDocument } from "@bikeshare/contract/openapi";
import scalar from "@scalar/fastify-api-reference";
import type { FastifyInstance } from "fastify";

/**
 * Serves the OpenAPI documents, /openapi.json for partners and /openapi/operator.json for the operator's backend, and
 * a reference made from them, without any other host, at /docs.
 */
export function serveDocuments(
  app: FastifyInstance,
  options: { readonly baseUrl: () => string; readonly version: string },
): void {
  serveOnce(app, "/openapi.json", () =>
    createOpenApiDocument({ baseUrl: options.baseUrl(), version: options.version }),
  );
  serveOnce(app, "/openapi/operator.json", () =>
    createOperatorOpenApiDocument({ baseUrl: options.baseUrl(), version: options.version }),
  );
  app.register(scalar, {
    routePrefix: "/docs",
    configuration: {
      sources: [
        { title: "For partners", slug: "partners", url: "/openapi.json" },
        { title: "For the operator's backend", slug: "operator", url: "/openapi/operator.json" },
      ],
      // Nothing is fetched from anywhere else: no fonts, no proxy, no usage reports.
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: "never",
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  });
}

/** Serves a document that is made when it is first asked for, because the base address is known only then. */
function serveOnce(app: FastifyInstance, path: string, make: () => object): void {
  let text: string | undefined;
  app.get(path, (_request, reply) => {
    text ??= JSON.stringify(make());
    return reply.header("content-type", "application/json").send(text);
  });
}
