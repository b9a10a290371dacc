import { isUtf8 } from "node:buffer";
import { isUtf8Charset, type ServiceError, serviceError } from "@bikeshare/rules";
import type { FastifyInstance, FastifyRequest } from "fastify";

/**
 * Reads bodies: JSON in UTF-8, as it is, and nothing else. Where the contract knows none, whatever comes is let pass
 * unread: clients send `Content-Type: application/json` with an empty body when they send the same headers with every
 * request.
 */
export function readJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addHook("preParsing", (request, _reply, payload, done) => {
    if (hasBody(request) && isCoded(request)) done(coded());
    else done(null, payload);
  });
  const parse = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (request, body, done) => {
    if (!takesBody(request)) return done(null, undefined);
    if (!isUtf8Charset(request.headers["content-type"] ?? "")) return done(otherCharset(), undefined);
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
    if (!isUtf8(bytes)) return done(notUtf8(bytes), undefined);
    return parse(request, bytes.toString(), done);
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

/** Whether a body comes that would be read: nobody looks at that of a GET, or of what no path takes. */
function hasBody({ is404, method, headers }: FastifyRequest): boolean {
  if (is404 || method === "GET" || method === "HEAD") return false;
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/** Whether the body's bytes are compressed. To unpack them would let a caller of few bytes take much of our memory. */
function isCoded({ headers }: FastifyRequest): boolean {
  const codings = `${headers["content-encoding"] ?? ""},${headers["transfer-encoding"] ?? ""}`;
  return codings
    .toLowerCase()
    .split(",")
    .some((coding) => !["", "identity", "chunked"].includes(coding.trim()));
}

function coded(): ServiceError {
  return serviceError("unsupported_media_type", "compressed");
}

function otherCharset(): ServiceError {
  return serviceError("unsupported_media_type", "charset");
}

function notUtf8(bytes: Buffer): ServiceError {
  return serviceError("invalid_request", "bodyNotUtf8", { position: firstBadByte(bytes) });
}

function notJson(): ServiceError {
  return serviceError("unsupported_media_type", "notJson");
}

/** What decoding puts in place of bytes that are no UTF-8. It may also stand in a text properly. */
const REPLACEMENT = "\ufffd";
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT);

/** The position, from 0, of the first byte that is no UTF-8. */
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
