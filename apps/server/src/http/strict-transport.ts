import type { FastifyInstance } from "fastify";

/** A year: browsers that have seen the service once ask for it by https alone, whatever a link says. */
const POLICY = "max-age=31536000";

/** Sends `Strict-Transport-Security` with every answer of a listener that speaks TLS itself. */
export function sendStrictTransport(app: FastifyInstance): void {
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("strict-transport-security", POLICY);
    done();
  });
}
