import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { Database } from "../db/database.ts";
import type { HttpMetrics } from "../metrics/http-metrics.ts";
import { openRequestLog } from "../request-log/service.ts";

interface LogOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly logger: FastifyBaseLogger;
  readonly metrics: HttpMetrics;
}

/** What is logged of a path that leads to no route: the path may contain a secret, and its length has no bound. */
const NO_ROUTE = "(no such path)";

/** Logs each request that carried a key of ours, and counts it, when its response has left. */
export function logRequests(app: FastifyInstance, { db, clock, logger, metrics }: LogOptions): void {
  const log = openRequestLog({
    db,
    onUnlogged: (requests) => metrics.unlogged(requests),
    onError: (error) => logger.warn({ err: error }, "requests were not logged"),
  });
  app.addHook("onClose", () => log.close());
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
