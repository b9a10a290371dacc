import type { Socket } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { CountedRoute, CountRequest, RequestMetrics } from "../health/metrics/http-metrics.ts";
import type { Activity, ActivityTracker } from "../health/tracing/activity.ts";
import type { Tracer } from "../health/tracing/tracer.ts";

/*
 * Records of requests: metrics and traces of all, and log lines for slow ones. An inner request is one that this process
 * makes itself on behalf of an outer one (inner-requests.ts).
 */

declare module "fastify" {
  interface FastifyRequest {
    /** The request's use of the database; undefined when it is not measured. */
    activity: Activity | undefined;
  }
}

export interface MeasuredRequestsOptions {
  /** Undefined: nothing is counted. */
  readonly metrics: RequestMetrics | undefined;
  readonly activities: ActivityTracker;
  /** Undefined: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  readonly clock: () => number;
  /** Requests that take longer are logged; 0 or left out: none is logged. */
  readonly slowRequestMs?: number;
  readonly logger: { warn(detail: object, message: string): void };
}

/**
 * Routes whose responses stay open as long as the reader likes. They are neither counted nor logged as slow, because their
 * times say nothing about the service.
 */
const STREAMS: ReadonlySet<string> = new Set(["live.partner"]);

/**
 * Measures each request: counts it by its endpoint, records its trace, and logs it when it was slow. Each route has its own
 * hook with its counter: a look-up at each request would cost more than the count.
 */
export function measureRequests(app: FastifyInstance, options: MeasuredRequestsOptions): void {
  const { metrics, activities, tracer, clock, logger: log, slowRequestMs = 0 } = options;
  const slowRequests = createSlowRequests({
    slowAfterMs: slowRequestMs === 0 ? Infinity : slowRequestMs,
    log,
    monotonic: () => performance.now(),
  });
  const hookFor = (route: CountedRoute, count: CountRequest | undefined) => {
    // The counters of requests that are counted under other names than their route's, each made at its first use.
    const counts = new Map<string, CountRequest | undefined>();
    const countAs = (name: string) => {
      const known = counts.get(name) ?? metrics?.countRoute({ ...route, route: name });
      counts.set(name, known);
      return known;
    };
    return measuringHook(route, count, { clock, slowRequests, countAs });
  };
  app.decorateRequest("activity");
  if (metrics === undefined && tracer === undefined && slowRequestMs === 0) return;
  app.addHook("onRequest", (request, _reply, done) => {
    // An inner request is measured as a part of its outer request.
    if (request.outer !== undefined) return done();
    const span = tracer?.startRequest(request.headers["traceparent"]);
    // Assigning statements to requests costs time at each statement, so it is done only for traces and the slow-request log.
    if (span !== undefined || slowRequestMs > 0) request.activity = activities.begin(span);
    done();
  });
  app.addHook("onRoute", (route) => {
    const counted = routeOf(route);
    const count = STREAMS.has(counted.route) ? undefined : metrics?.countRoute(counted);
    const hook = hookFor(counted, count);
    route.onResponse = [hook, ...[route.onResponse ?? []].flat()];
  });
  // Requests to paths that do not exist have no route, and so no hook of one.
  const nowhere: CountedRoute = { interface: "none", route: "none", method: "any" };
  const measureUnknown = hookFor(nowhere, metrics?.countRoute(nowhere));
  app.addHook("onResponse", (request, reply, done) => {
    if (request.is404) measureUnknown(request, reply, done);
    else done();
  });
  if (metrics !== undefined) countBytes(app, metrics);
}

/** The interfaces by the first part of a path. All other paths count as `pages`. */
const INTERFACES = new Map<string | undefined, CountedRoute["interface"]>([
  ["v1", "partner"],
  ["healthz", "partner"],
  ["readyz", "partner"],
  ["operator", "operator"],
  ["mcp", "mcp"],
  ["gbfs", "gbfs"],
  ["console", "console"],
]);

function routeOf({ url, method, config }: RouteOptions): CountedRoute {
  const name = config?.endpointName;
  const methods = String(method);
  if (name === undefined) return { interface: "pages", route: "any", method: methods };
  return { interface: INTERFACES.get(url.split("/")[1]) ?? "pages", route: name, method: methods };
}

interface Measuring {
  readonly clock: () => number;
  readonly slowRequests: SlowRequests;
  /**
   * Returns the counter for requests of the route that are counted under another name (`recordedAs`), as those to /mcp are
   * by method and tool.
   */
  readonly countAs: (name: string) => CountRequest | undefined;
}

/** Returns the hook that measures the requests of a route. */
function measuringHook(
  route: CountedRoute,
  count: CountRequest | undefined,
  { clock, slowRequests, countAs }: Measuring,
): (request: FastifyRequest, reply: FastifyReply, done: () => void) => void {
  return (request, reply, done) => {
    const { activity, recordedAs, outer } = request;
    if (outer !== undefined) return done();
    const { elapsedTime: ms } = reply;
    const status = recordedAs?.status ?? reply.statusCode;
    const name = recordedAs?.name ?? route.route;
    const countIt = recordedAs === undefined ? count : countAs(name);
    // Requests to sandboxes are not counted: what partners' tests do, and make fail, says nothing about the service.
    if (countIt !== undefined && request.caller?.key.is_sandbox !== true) {
      const rate = request.caller?.rate;
      const limitUsed = rate === undefined ? undefined : 1 - rate.remaining / rate.limit;
      countIt({ id: request.id, status, seconds: ms / 1_000, limitUsed, at: clock() });
    }
    if (slowRequests.isSlow(ms) && !STREAMS.has(route.route)) {
      slowRequests.log({ requestId: request.id, ...route, route: name, status, ms, activity });
    }
    activity?.span?.end(
      {
        "http.request.method": request.method,
        "http.route": request.is404 ? "(no such path)" : (request.routeOptions.url ?? ""),
        "http.response.status_code": status,
        "bikeshare.request_id": request.id,
        "bikeshare.interface": route.interface,
        "bikeshare.endpoint": name,
      },
      status >= 500 ? String(status) : undefined,
    );
    done();
  };
}

/** Counts bytes by connection, from the sockets' own counters: a sum over requests would miss their headers. */
function countBytes(app: FastifyInstance, metrics: RequestMetrics): void {
  const open = new Set<{ readonly bytesRead: number; readonly bytesWritten: number }>();
  const closed = { received: 0, sent: 0 };
  // With TLS, only the inner connection's bytes belong to requests.
  const event = "setSecureContext" in app.server ? "secureConnection" : "connection";
  app.server.on(event, (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => {
      open.delete(socket);
      closed.received += socket.bytesRead;
      closed.sent += socket.bytesWritten;
    });
  });
  metrics.watchBytes(() => {
    let { received, sent } = closed;
    for (const socket of open) {
      received += socket.bytesRead;
      sent += socket.bytesWritten;
    }
    return { received, sent };
  });
}

/** Logs slow requests, with the time spent on each cause. */
interface SlowRequests {
  isSlow(ms: number): boolean;
  log(request: SlowRequest): void;
}

interface SlowRequest {
  readonly requestId: string;
  readonly interface: string;
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  readonly activity: Activity | undefined;
}

interface SlowRequestsOptions {
  /** From how many milliseconds on a request is slow. */
  readonly slowAfterMs: number;
  readonly log: { warn(detail: object, message: string): void };
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/** The most lines in any second. When the database is slow, all requests are, and more lines would only fill the disk. */
const MAX_LINES_PER_SECOND = 5;

function createSlowRequests({ slowAfterMs, log, monotonic }: SlowRequestsOptions): SlowRequests {
  let second = -1;
  let lines = 0;
  let omitted = 0;
  return {
    isSlow: (ms) => ms >= slowAfterMs,
    log({ activity, ms, ...request }) {
      const now = Math.floor(monotonic() / 1_000);
      if (now !== second) lines = 0;
      second = now;
      if (lines >= MAX_LINES_PER_SECOND) {
        omitted++;
        return;
      }
      lines++;
      log.warn(
        { ...request, ms: round(ms), ...(activity && spentOn(activity, ms)), ...(omitted > 0 && { omitted }) },
        "slow request",
      );
      omitted = 0;
    },
  };
}

/** Returns the time of a request by cause. The remainder is this process, or a caller that reads slowly. */
function spentOn({ statements, databaseMs, connectionWaitMs, span }: Activity, ms: number): object {
  return {
    connection_wait_ms: round(connectionWaitMs),
    database_ms: round(databaseMs),
    other_ms: round(Math.max(0, ms - connectionWaitMs - databaseMs)),
    statements,
    ...(span && { trace_id: span.traceId }),
  };
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
