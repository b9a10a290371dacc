import type { ServerOptions } from "node:https";
import { MAX_BODY_BYTES } from "@bikeshare/contract";
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import type { NetworkList } from "../outbound/addresses/network-list.ts";
import { readJsonBodies } from "./body.ts";
import { limitConnections, followConnections } from "./connections.ts";
import { handleErrors, sendError } from "./errors.ts";
import { answerConnect, createParserErrorHandler } from "./parser-errors.ts";
import { framingError, routableUrl } from "./request-form.ts";

export interface HttpServerOptions {
  readonly logger: FastifyBaseLogger;
  readonly nextRequestId: () => string;
  readonly https?: ServerOptions | undefined;
  readonly maxConnections: number;
  readonly trustedProxies: NetworkList;
  /** Hears why a request could not be served at present. */
  readonly onUnavailable?: (error: unknown) => void;
}

/** Milliseconds that a request's head may take to arrive, counted from the connection's start or the first byte. */
const HEADERS_TIMEOUT_MS = 15_000;
/** Milliseconds that a request may take to arrive. Slow senders hold a connection no longer than this. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Milliseconds that a TLS handshake may take. Node's own 120 s let a caller hold connections without having sent anything. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Milliseconds between two looks for requests that take longer. Node's own 30 s would let each take twice as long. */
const TIMEOUT_CHECK_INTERVAL_MS = 5_000;
/**
 * Milliseconds in which a connection on which something is under way must have moved a byte, either way. A caller that
 * does not read its answer keeps it in our memory for no longer. No answer takes us as long to make.
 */
const STALL_TIMEOUT_MS = 30_000;
/** Longer than the 60 s that load balancers keep idle connections, so that we never close one they are about to use. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** The HTTP server, without a route: what every request and connection meets before anything knows what it asks for. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { logger, nextRequestId, https } = options;
  const serverOptions = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
  };
  const parserErrors = createParserErrorHandler(nextRequestId);
  const app = Fastify({
    loggerInstance: logger,
    // A line a request costs more than the request; whoever wants them has a proxy in front.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request would cost more than all of its hooks; what is logged of a request names its id.
    childLoggerFactory: (log) => log,
    genReqId: nextRequestId,
    // A request that a closing server still gets is answered; Fastify's own 503 would not have our shape.
    return503OnClosing: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: STALL_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Above what a request's headers may have: an identifier that is too long is refused by the contract, so that its
    // request is asked for a key first and is counted.
    routerOptions: { maxParamLength: 32 * 1024 },
    // The contract's schemas check requests. Without these Fastify loads its compilers of schemas, a tenth of a start.
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    rewriteUrl: routableUrl,
    clientErrorHandler: (error, socket) => parserErrors(connections, error, socket),
    frameworkErrors: (error, request, reply) => {
      sendError(reply.header("request-id", request.id).header("x-content-type-options", "nosniff"), request, error);
    },
    ...(https
      ? { https: { ...https, ...serverOptions, handshakeTimeout: HANDSHAKE_TIMEOUT_MS } }
      : { http: serverOptions }),
  }) as unknown as FastifyInstance; // with `https` Fastify types its raw server otherwise; nothing here touches it
  // No path takes it. Fastify would look at its body before anybody says so.
  app.addHttpMethod("QUERY", { overrideExisting: true });
  const connections = followConnections(app.server);
  limitConnections(app.server, options);
  answerConnect(app.server, connections, nextRequestId);
  app.decorateRequest("framingError");
  app.addHook("onRequest", (request, reply, done) => {
    if (connections.isClosing(request.raw)) {
      reply.hijack();
      return;
    }
    request.framingError = framingError(request.raw);
    if (request.framingError !== undefined) connections.endAfter(request.raw);
    done();
  });
  readJsonBodies(app);
  handleErrors(app, options.onUnavailable);
  return app;
}

function refuseSchemas(): never {
  throw new Error("A route has a schema of Fastify's. Give it one in the contract instead.");
}

/** A year: browsers that have seen the service once ask for it by https alone, whatever a link says. */
const POLICY = "max-age=31536000";

/** Sends `Strict-Transport-Security` with every answer of a listener that speaks TLS itself. */
export function sendStrictTransport(app: FastifyInstance): void {
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("strict-transport-security", POLICY);
    done();
  });
}
