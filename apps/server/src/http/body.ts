import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiError } from "./api-error.ts";

/**
 * Reads bodies: JSON and nothing else. Where the contract knows none, whatever comes is let pass unread: clients send
 * `Content-Type: application/json` with an empty body when they send the same headers with every request.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (!takesBody(request)) return done(null, undefined);
    return parse(request, String(body), done);
  });
  app.addContentTypeParser("*", { parseAs: "buffer" }, (request, _body, done) => {
    if (takesBody(request)) done(notJson(), undefined);
    else done(null, undefined);
  });
}

function takesBody(request: FastifyRequest): boolean {
  const route = request.routeOptions.config.tsRestRoute;
  return route !== undefined && "body" in route && route.body !== undefined;
}

function notJson(): ApiError {
  return new ApiError("unsupported_media_type", "The body must be JSON, sent with Content-Type: application/json.");
}
