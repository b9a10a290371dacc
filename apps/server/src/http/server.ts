import { isUtf8 } from "node:buffer";
import type { Server } from "node:http";
import type { ServerOptions } from "node:https";
import type { Socket } from "node:net";
import { errorMessage, MAX_BODY_BYTES } from "@bikeshare/contract";
import { isUtf8Charset, type ServiceError, serviceError } from "@bikeshare/rules";
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, LogController } from "fastify";
import type { NetworkList } from "../outbound/addresses/address-guard.ts";
import { codeOf } from "../storage/db/errors.ts";
import { takesBytesOf } from "./authenticate.ts";
import { type Connections, followConnections, limitConnections } from "./connections.ts";
import { errorJson, handleErrors, sendError } from "./errors.ts";
import { allowInnerRequests } from "./inner-requests.ts";
import { framingError, routableUrl } from "./request-form.ts";

export interface HttpServerOptions {
  readonly logger: FastifyBaseLogger;
  readonly nextRequestId: () => string;
  readonly https?: ServerOptions | undefined;
  readonly maxConnections: number;
  readonly trustedProxies: NetworkList;
  /** Called with the error when a request could not be served because the database is unavailable. */
  readonly onUnavailable?: (error: unknown) => void;
}

/** Milliseconds that a request's headers may take to arrive, counted from the connection's start or the first byte. */
const HEADERS_TIMEOUT_MS = 15_000;
/** Milliseconds that a request may take to arrive. Slow senders hold a connection little longer than this. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Milliseconds that a TLS handshake may take. Node's default of 120 s would let a silent caller hold connections. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Milliseconds between two searches for requests that exceed these limits. Node's default of 30 s would double them. */
const TIMEOUT_CHECK_INTERVAL_MS = 5_000;
/**
 * Milliseconds without a byte in either direction after which a connection is closed while a request arrives or an
 * answer is sent. Limits how long an answer that its caller does not read stays in memory. An answer may take longer to
 * make, as those that wait for a mail server or read another service's feeds: see `followConnections`.
 */
const STALL_TIMEOUT_MS = 30_000;
/**
 * Milliseconds for which an idle connection stays open. It exceeds the 60 s of load balancers, so that we never close a
 * connection that a balancer is about to use.
 */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

/** Creates the HTTP server without routes, with the handling that applies to every request and connection. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const { logger, nextRequestId, https } = options;
  const serverOptions = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
  };
  const parserErrors = createParserErrorHandler(nextRequestId);
  const app = Fastify({
    loggerInstance: logger,
    // A log line per request costs more than the request; a proxy in front can write them.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger per request would cost more than all of its hooks; lines about a request include its id.
    childLoggerFactory: (log) => log,
    genReqId: nextRequestId,
    // A closing server still answers requests. Fastify's own 503 would not have the form of our errors.
    return503OnClosing: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: STALL_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // Longer than a request's headers may be, so that the router accepts every identifier. The contract then rejects those
    // that are too long, after the request was authorized and counted.
    routerOptions: { maxParamLength: 32 * 1024 },
    // The contract's schemas check requests. These replace Fastify's schema compilers, which take a tenth of the start.
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    rewriteUrl: routableUrl,
    clientErrorHandler: (error, socket) => parserErrors(connections, error, socket),
    frameworkErrors: (error, request, reply) => {
      sendError(reply.header("request-id", request.id).header("x-content-type-options", "nosniff"), request, error);
    },
    ...(https
      ? { https: { ...https, ...serverOptions, handshakeTimeout: HANDSHAKE_TIMEOUT_MS } }
      : { http: serverOptions }),
  }) as unknown as FastifyInstance; // with `https` Fastify gives its raw server another type, which no code here uses
  // Fastify takes QUERY for a method with a body, which it would read before the request is rejected: no path here accepts
  // QUERY. This makes it a method without a body.
  app.addHttpMethod("QUERY", { overrideExisting: true });
  const connections = followConnections(app.server);
  limitConnections(app.server, options);
  answerConnect(app.server, connections, nextRequestId);
  allowInnerRequests(app);
  app.decorateRequest("framingError");
  app.addHook("onRequest", (request, reply, done) => {
    if (connections.isClosing(request.raw)) {
      // Nobody would receive an answer. The request ends here, because `done` is not called.
      reply.hijack();
      return;
    }
    request.framingError = framingError(request.raw);
    if (request.framingError !== undefined) connections.endAfter(request.raw);
    // A GET waits until the previous answer on its connection was sent.
    connections.inTurn(request.raw, done);
  });
  readJsonBodies(app);
  handleErrors(app, options.onUnavailable);
  return app;
}

function refuseSchemas(): never {
  throw new Error("A route has a schema of Fastify's. Give it one in the contract instead.");
}

/** Makes browsers that get it use only https with the service for a year (in seconds), even for http links. */
const POLICY = "max-age=31536000";

/**
 * Sends `Strict-Transport-Security` with answers, for a listener that speaks TLS itself. Requests that are refused earlier,
 * such as broken HTTP, get none.
 */
export function sendStrictTransport(app: FastifyInstance): void {
  app.addHook("onRequest", (_request, reply, done) => {
    reply.header("strict-transport-security", POLICY);
    done();
  });
}

// Not imported, since Node would load its HTTP client too: 20 ms of every start.
const { maxHeaderSize, STATUS_CODES } = process.getBuiltinModule("node:http");

/** Returns the handler of requests that Node's HTTP parser rejects: oversized headers, broken syntax, time-outs. */
export function createParserErrorHandler(
  nextRequestId: () => string,
): (connections: Connections, error: Error, socket: Socket) => void {
  return (connections, error, socket) => {
    const code = codeOf(error);
    if (code === "ECONNRESET") return void socket.destroy();
    // Browsers open spare connections before they need them. On a connection without a request, a browser would take an
    // answer for that of its next request. If the connection is only closed, it uses another one.
    if (code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) return void socket.destroy();
    connections.refuse(socket, () => answer(parserMessage(code), nextRequestId(), { hasBody: !isHead(error) }));
  };
}

/** Answers CONNECT, which Node hands over as a bare connection. */
function answerConnect(server: Server, connections: Connections, nextRequestId: () => string): void {
  server.on("connect", (_request, socket: Socket) => {
    connections.refuse(socket, () =>
      answer(errorMessage("invalid_request", "connect"), nextRequestId(), { hasBody: true }),
    );
  });
}

/** Returns a whole HTTP response with the status 400, for a connection on which Fastify has no request to answer. */
function answer(message: string, requestId: string, options: { readonly hasBody: boolean }): string {
  const body = errorJson("invalid_request", message);
  return [
    `HTTP/1.1 400 ${STATUS_CODES[400]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Request-Id: ${requestId}`,
    "X-Content-Type-Options: nosniff",
    "Connection: close",
    "",
    options.hasBody ? body : "",
  ].join("\r\n");
}

/** Tells whether the request that could not be read is a HEAD, as far as the last received bytes show. */
function isHead(error: Error): boolean {
  const { rawPacket, bytesParsed } = error as { rawPacket?: unknown; bytesParsed?: unknown };
  if (!Buffer.isBuffer(rawPacket)) return false;
  const read = rawPacket.toString("latin1", 0, Number(bytesParsed ?? rawPacket.length));
  const requestLine = read.split(/\r?\n/).findLast((line) => /^[A-Z]+ /.test(line));
  return requestLine?.startsWith("HEAD ") === true;
}

function parserMessage(code: string | undefined): string {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return errorMessage("invalid_request", "headersTooLarge", { limit: `${maxHeaderSize / 1024} KiB` });
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return errorMessage("invalid_request", "chunkExtensionsTooLarge");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return errorMessage("invalid_request", "tooSlow");
    default:
      return errorMessage("invalid_request", "notHttp");
  }
}

/**
 * Reads bodies: uncompressed JSON in UTF-8, or bytes if the contract says so. If the contract has no body for an endpoint,
 * ignores any body: clients that send the same headers with every request send `Content-Type: application/json` with an
 * empty body.
 */
function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addHook("preParsing", (request, _reply, payload, done) => {
    if (hasBody(request) && isCompressed(request)) done(compressed());
    else done(null, payload);
  });
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    if (!takesBody(request)) return done(null, undefined);
    if (takesBytes(request)) return done(notBytes(), undefined);
    if (!isUtf8Charset(request.headers["content-type"] ?? "")) return done(otherCharset(), undefined);
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    if (!isUtf8(bytes)) return done(notUtf8(bytes), undefined);
    return parse(request, bytes.toString(), done);
  });
  app.addContentTypeParser(BYTES, { parseAs: "buffer" }, (request, body, done) => {
    if (takesBytes(request)) done(null, body);
    else if (takesBody(request)) done(notJson(), undefined);
    else done(null, undefined);
  });
  app.addContentTypeParser("*", { parseAs: "buffer" }, (request, _body, done) => {
    if (takesBody(request)) done(takesBytes(request) ? notBytes() : notJson(), undefined);
    else done(null, undefined);
  });
}

const BYTES = "application/octet-stream";

/** Tells whether a request's body consists of bytes, such as a part of a file, according to the contract. */
function takesBytes(request: FastifyRequest): boolean {
  const route = request.routeOptions.config.tsRestRoute;
  return route !== undefined && takesBytesOf(route);
}

function takesBody(request: FastifyRequest): boolean {
  const route = request.routeOptions.config.tsRestRoute;
  return route !== undefined && "body" in route && route.body !== undefined;
}

/** Tells whether a request has a body that will be read: bodies of GET requests and of unknown paths are ignored. */
function hasBody({ is404, method, headers }: FastifyRequest): boolean {
  if (is404 || method === "GET" || method === "HEAD") return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Tells whether the body is compressed. Unpacking would let a caller take much memory by sending few bytes. */
function isCompressed({ headers }: FastifyRequest): boolean {
  const codings = `${headers["content-encoding"] ?? ""},${headers["transfer-encoding"] ?? ""}`;
  return codings
    .toLowerCase()
    .split(",")
    .some((coding) => !["", "identity", "chunked"].includes(coding.trim()));
}

function compressed(): ServiceError {
  return serviceError("unsupported_media_type", "compressed");
}

function otherCharset(): ServiceError {
  return serviceError("unsupported_media_type", "charset");
}

function notUtf8(bytes: Buffer): ServiceError {
  return serviceError("invalid_request", "bodyNotUtf8", { position: firstBadByte(bytes) });
}

function notBytes(): ServiceError {
  return serviceError("unsupported_media_type", "notBytes");
}

function notJson(): ServiceError {
  return serviceError("unsupported_media_type", "notJson");
}

/** The decoder's replacement for invalid UTF-8. A valid text may also contain it. */
const REPLACEMENT = "\ufffd";
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT);

/**
 * Returns the position, from 0, of the first byte that is not UTF-8: where the decoded text has a `REPLACEMENT` that the
 * bytes do not contain themselves.
 */
function firstBadByte(bytes: Buffer): number {
  const text = bytes.toString();
  let position = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf(REPLACEMENT, from);
    if (at === -1) return bytes.length;
    position += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(position, position + REPLACEMENT_BYTES.length).equals(REPLACEMENT_BYTES)) return position;
    position += REPLACEMENT_BYTES.length;
    from = at + 1;
  }
}
