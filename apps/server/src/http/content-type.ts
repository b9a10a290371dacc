import type { FastifyInstance } from "fastify";

/**
 * `application/json`, without a charset: JSON is UTF-8 and the interface says so exactly. Whatever an endpoint of a
 * contract answers is JSON, also where it hands over a text that is in its JSON already.
 */
export function sendExactJsonType(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const type = reply.getHeader("content-type");
    const isJson = typeof type === "string" && type.startsWith("application/json");
    const isContract = request.routeOptions.config.tsRestRoute !== undefined && type !== undefined;
    if (isJson || isContract) reply.header("content-type", "application/json");
    done(null, payload);
  });
}
