import type { FastifyInstance } from "fastify";

/**
 * Reads bodies: JSON and nothing else. Where the contract knows no body an empty one may be announced as JSON, as
 * clients do that send the same headers with every request.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    const route = request.routeOptions.config.tsRestRoute;
    const takesBody = route !== undefined && "body" in route;
    if (body.length === 0 && !takesBody) done(null, undefined);
    else void parse(request, String(body), done);
  });
}
