import type { FastifyInstance } from "fastify";

/** `application/json`, without a charset: JSON is UTF-8 and the interface says so exactly. */
export function sendExactJsonType(app: FastifyInstance): void {
  app.addHook("onSend", (_request, reply, payload, done) => {
    const type = reply.getHeader("content-type");
    if (typeof type === "string" && type.startsWith("application/json")) reply.header("content-type", "application/json");
    done(null, payload);
  });
}
