import type { IncomingMessage } from "node:http";
import {
  isDecodable,
  queryEncodingError,
  type ServiceError,
  serviceError,
  type ServiceErrorOptions,
} from "@bikeshare/rules";
import type { FastifyInstance, FastifyRequest } from "fastify";

/*
 * Refuses requests in a wrong or ambiguous form: an unclear host or end, repeated headers, badly encoded URLs. For each
 * request `routableUrl` runs first, before routing. Then `framingError` runs before authorization, which throws its error,
 * and `refuseMalformedRequests` after authorization.
 */

/** Headers that may occur only once: of two, each server on the way could use another one. */
const SINGLE_HEADERS = ["host", "authorization", "content-type", "idempotency-key"] as const;

/** A host and an optional port: the characters that RFC 3986 allows, IPv6 in brackets. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d{0,5})?$/i;

/**
 * Returns the error of a request whose host, sender or end two servers on the way could interpret differently. One of them
 * could take the following bytes of the connection as a part of the request, so the response closes the connection.
 */
export function framingError({ headers, httpVersion, rawHeaders }: IncomingMessage): ServiceError | undefined {
  const fail = (message: "missingHost" | "invalidHost" | "transferEncoding") =>
    serviceError("invalid_request", message, {}, CLOSING);
  // HTTP/1.0 has no `Transfer-Encoding`: a proxy may pass the header on and take the body's bytes for the next request.
  if (httpVersion === "1.0" && headers["transfer-encoding"] !== undefined) return fail("transferEncoding");
  if (headers.host === undefined) return httpVersion === "1.1" ? fail("missingHost") : undefined;
  if (!HOST.test(headers.host)) return fail("invalidHost");
  const repeated = repeatedHeader(rawHeaders);
  return repeated === "host" || repeated === "authorization" ? givenTwice(repeated, CLOSING) : undefined;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The error that authorization throws, so that the request is measured and logged like any other. */
    framingError: ServiceError | undefined;
  }
}

const CLOSING: ServiceErrorOptions = { headers: { connection: "close" } };

/**
 * Rejects requests that the router would accept, or would reject before authorization: a badly encoded URL, and repeated
 * headers. Registered after authorization, so that callers without a key learn nothing.
 */
export function refuseMalformedRequests(app: FastifyInstance): void {
  app.addHook("onRequest", (request, _reply, done) => {
    done(malformation(request));
  });
}

function malformation(request: FastifyRequest): ServiceError | undefined {
  if (badlyEncoded.has(request.raw)) {
    return serviceError("invalid_request", "invalidPath");
  }
  const query = request.url.indexOf("?");
  const isEncoded = query !== -1 && request.url.includes("%", query);
  const encodingError = isEncoded ? queryEncodingError(request.url.slice(query + 1)) : undefined;
  if (encodingError !== undefined) return encodingError;
  const repeated = repeatedHeader(request.raw.rawHeaders);
  return repeated === undefined ? undefined : givenTwice(repeated);
}

function givenTwice(header: (typeof SINGLE_HEADERS)[number], options: ServiceErrorOptions = {}): ServiceError {
  const name = header.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
  const code = header === "idempotency-key" ? "invalid_parameter" : "invalid_request";
  return serviceError(code, "repeatedHeader", { name }, options);
}

/**
 * Returns the first of `SINGLE_HEADERS` that occurs twice.
 * @param rawHeaders names and values in turn
 */
function repeatedHeader(rawHeaders: readonly string[]): (typeof SINGLE_HEADERS)[number] | undefined {
  // One bit for each of `SINGLE_HEADERS`.
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const position = singleHeaderAt(rawHeaders[index] ?? "");
    if (position === -1) continue;
    if ((seen & (1 << position)) !== 0) return SINGLE_HEADERS[position];
    seen |= 1 << position;
  }
  return undefined;
}

/** The headers' indexes by the length of their names, which all differ. For speed, only names of such a length are read. */
const positions = new Map<number, number>(SINGLE_HEADERS.map((name, index) => [name.length, index]));

function singleHeaderAt(name: string): number {
  const position = positions.get(name.length);
  return position !== undefined && name.toLowerCase() === SINGLE_HEADERS[position] ? position : -1;
}

/** Requests whose original path could not be decoded. */
const badlyEncoded = new WeakSet<IncomingMessage>();

/**
 * Makes a path that is badly encoded decodable, so that the request is routed, asked for its key and counted as any
 * other; `refuseMalformedRequests` then refuses it.
 */
export function routableUrl(request: IncomingMessage): string {
  const url = request.url ?? "";
  if (!url.includes("%")) return url;
  const [path = ""] = url.split("?", 1);
  if (isDecodable(path)) return url;
  badlyEncoded.add(request);
  // Keeps each run of valid escapes that is UTF-8, and encodes every other `%`.
  const encoded = path.replaceAll(/(?:%[0-9a-f]{2})+|%/gi, (run) =>
    isDecodable(run) ? run : run.replaceAll("%", "%25"),
  );
  return encoded + url.slice(path.length);
}
