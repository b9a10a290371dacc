import type { FastifyInstance } from "fastify";
import type { RequestLog } from "../request-log/service.ts";

/**
 * Logs each request that carried a key of ours, when its response has left. What could not be routed is logged without
 * its path, which may contain a secret and has no bound.
 */
export function logRequests(app: FastifyInstance, log: RequestLog, clock: () => number): void {
  app.addHook("onResponse", (request, reply, done) => {
    const key = request.caller?.key ?? request.refusedKey;
    if (key !== undefined) {
      const ms = reply.elapsedTime;
      log.record({
        systemId: key.system_id,
        id: request.id,
        at: clock() - ms,
        keyId: key.id,
        partnerId: key.partner_id,
        method: request.method,
        route: request.routeOptions.url ?? NO_ROUTE,
        status: reply.statusCode,
        error: request.errorCode ?? null,
        ms,
        address: request.transport?.address ?? "",
      });
    }
    done();
  });
}

/** What is logged of a path that leads to no route. */
const NO_ROUTE = "(no such path)";
