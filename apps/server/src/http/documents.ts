import { createOpenApiDocument } from "@bikeshare/contract/openapi";
import scalar from "@scalar/fastify-api-reference";
import type { FastifyInstance } from "fastify";

/** Serves the OpenAPI document at /openapi.json and a reference made from it, without any other host, at /docs. */
export function serveDocuments(
  app: FastifyInstance,
  options: { readonly baseUrl: () => string; readonly version: string },
): void {
  let text: string | undefined;
  app.get("/openapi.json", (_request, reply) => {
    text ??= JSON.stringify(createOpenApiDocument({ baseUrl: options.baseUrl(), version: options.version }));
    return reply.header("content-type", "application/json").send(text);
  });
  app.register(scalar, {
    routePrefix: "/docs",
    configuration: {
      url: "/openapi.json",
      // Nothing is fetched from anywhere else: no fonts, no proxy, no usage reports.
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
    },
  });
}
