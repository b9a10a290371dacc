import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from "fastify";
import type { HttpMetrics } from "../health/metrics/http-metrics.ts";
import {
  createDetailBudget,
  detailsOf,
  type RefusedDetails,
  sizeOf,
} from "../partners/request-log/refused-details.rules.ts";
import { openRequestLog } from "../partners/request-log/service.ts";
import type { Database } from "../storage/db/database.ts";

interface LogOptions {
  readonly db: Database;
  readonly clock: () => number;
  readonly logger: FastifyBaseLogger;
  readonly metrics: HttpMetrics;
}

/** The logged path of a request without a route: the real path may contain a secret, and its length is unbounded. */
const NO_ROUTE = "(no such path)";

/**
 * Logs and counts each request that carried a key of ours, even a refused one, after its response was sent. Leaves out
 * the inner requests that the process makes on behalf of another request (`outer`), because that one is logged. A
 * request to /mcp is logged with the name and the status of its JSON-RPC call (`recordedAs`).
 */
export function logRequests(app: FastifyInstance, { db, clock, logger, metrics }: LogOptions): void {
  const log = openRequestLog({
    db,
    onUnlogged: (requests) => metrics.unlogged(requests),
    onError: (error) => logger.warn({ err: error }, "requests were not logged"),
  });
  const budget = createDetailBudget();
  /**
   * Returns a refused request's details. Undefined: the space for details is used up (the partner's share, or that of
   * all partners), or the error is `rate_limited`, whose details would always be the same.
   */
  const details = (request: FastifyRequest, message: string): RefusedDetails | undefined => {
    if (request.errorCode === "rate_limited") return undefined;
    const { url, body, headers } = request;
    const kept = detailsOf({ url, message, body, bodyBytes: Number(headers["content-length"]) });
    const key = request.caller?.key ?? request.refusedKey;
    return budget.take(`${key?.system_id} ${key?.partner_id}`, sizeOf(kept), clock()) ? kept : undefined;
  };
  app.addHook("onClose", () => log.close());
  app.addHook("onResponse", (request, reply, done) => {
    const key = request.caller?.key ?? request.refusedKey;
    const { outer, recordedAs, routeOptions, routeOfPath } = request;
    if (key !== undefined && outer === undefined) {
      // `routeOfPath`: the path has a route, but not for this method.
      const route = routeOptions.url ?? routeOfPath ?? NO_ROUTE;
      const ms = reply.elapsedTime;
      log.record({
        systemId: key.system_id,
        id: request.id,
        at: clock() - ms,
        keyId: key.id,
        partnerId: key.partner_id,
        method: request.method,
        route: recordedAs === undefined ? route : `${route} ${recordedAs.name}`,
        status: recordedAs?.status ?? reply.statusCode,
        error: request.errorCode ?? null,
        ms,
        address: request.transport?.address ?? "",
        ...(request.errorMessage !== undefined && { details: details(request, request.errorMessage) }),
      });
    }
    done();
  });
}
