import { MAX_BODY_BYTES } from "@bikeshare/contract/pure";
import { type ServiceError, serviceError } from "./service-error.ts";

/*
 * What the service and the SDK's fake check of an HTTP request before they look at its endpoint, and the errors for it.
 */

/** Tells whether a part of a URL is valid percent-encoded UTF-8. */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the error for a badly encoded query, which names the first such parameter; undefined if all are well encoded.
 * @param query the query string, without its `?`
 */
export function queryEncodingError(query: string): ServiceError | undefined {
  const pair = query.split("&").find((written) => !isDecodable(written));
  if (pair === undefined) return undefined;
  const [name = ""] = pair.split("=", 1);
  // Shortened, because the caller may have sent anything.
  return serviceError("invalid_parameter", "notUtf8", { name: name.slice(0, 50) });
}

/** Tells whether a `Content-Type` names UTF-8 or no charset. */
export function isUtf8Charset(contentType: string): boolean {
  const parameter = /;\s*charset\s*=\s*(?:"([^"]*)"|([^;\s]*))/i.exec(contentType);
  if (parameter === null) return true;
  const [, quoted, plain = ""] = parameter;
  return /^utf-?8$/i.test(quoted ?? plain);
}

/** Returns the error for a body of more than `MAX_BODY_BYTES`. */
export function bodyTooLarge(options: ErrorOptions = {}): ServiceError {
  return serviceError("payload_too_large", "body", { limit: `${MAX_BODY_BYTES / 1024 ** 2} MiB` }, options);
}

/** Returns the error for a method that a path does not support. @param methods the methods that it supports */
export function methodNotAllowed(method: string, methods: Iterable<string>): ServiceError {
  const allowed = [...methods].sort().join(", ");
  return serviceError("method_not_allowed", "allowed", { method, allowed }, { headers: { allow: allowed } });
}
