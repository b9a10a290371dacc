import {
  BikeShareError,
  ConnectionError,
  type ErrorDetails,
  TimeoutError,
  UnexpectedResponseError,
} from "../errors/errors.ts";
import { apiError, safeCause } from "../errors/from-response.ts";
import type { RequestDetails } from "../hooks.ts";
import type { Settings } from "../options.ts";
import { withTimeout } from "./platform.ts";
import type { OnRateLimit, RateLimit } from "./rate-limiter.ts";
import { requireHeaderValue, type Route } from "./request.ts";

/** A successful response. */
export interface ApiResponse<Data> {
  /** The result of the call. */
  readonly data: Data;
  /** The response with its status and headers. Its body has been read already. */
  readonly response: Response;
  /** The response's `Request-Id`. */
  readonly requestId: string | undefined;
  /** How many requests were sent for this result. */
  readonly attempts: number;
}

/** A call in progress: the client's settings, overridden by the call's options, and the call's state. */
export interface Call extends Settings {
  readonly idempotencyKey: string | undefined;
  readonly route: Route;
  readonly request: Omit<RequestDetails, "attempt">;
  /** The body as JSON; null: there is none. */
  readonly body: string | null;
  /** The time at which the call times out, by the platform's `performance.now()`. */
  readonly deadline: number;
  /** Requests sent so far. */
  attempts: number;
  /** Why the last attempt failed; undefined before the first failure. */
  cause?: BikeShareError;
}

/**
 * Sends a request once and reads the whole response. Failures of the network and of the service are returned, not thrown.
 *
 * @param request the request without the key
 * @param onRateLimit called with the rate limit that the response reports
 * @throws the signal's reason; the error of a hook, of `validate` or of the function `apiKey`; UsageError for a key that no
 *   header can hold
 */
export async function sendOnce(
  call: Call,
  request: RequestDetails,
  signal: AbortSignal,
  onRateLimit: OnRateLimit,
): Promise<ApiResponse<object> | BikeShareError> {
  const { apiKey, timeoutMs, platform, route, body, idempotencyKey, attempts } = call;
  const { operation, method, url } = request;
  const details = { idempotencyKey, attempts };
  // `route[2]` is the kind of the endpoint. An open one needs no key.
  const key =
    route[2] === "open" ? "" : requireHeaderValue("apiKey", typeof apiKey === "string" ? apiKey : await apiKey());
  const redact = (text: string) => (key ? text.replaceAll(key, "[redacted]") : text);
  const headers = key ? { ...request.headers, authorization: `Bearer ${key}` } : request.headers;
  call.onRequest?.(request);
  const started = platform.performance.now();
  const timeoutError = () => new TimeoutError(`${operation}: no response within ${timeoutMs} ms`, details);
  const received = await withTimeout(platform, timeoutMs, signal, timeoutError, async (limited) => {
    // Redirects are not followed, because their target must not get the key or the data.
    const response = await call.fetch(url, { method, headers, redirect: "manual", signal: limited, body });
    return [response, await response.text()] as const;
  }).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (thrown instanceof BikeShareError) return thrown;
    const cause = safeCause(thrown, redact);
    return new ConnectionError(`${operation}: no response: ${cause.message}`, { ...details, cause });
  });
  if (received instanceof Error) return received;
  const [response, text] = received;
  const { status } = response;
  const requestId = response.headers.get("request-id") ?? undefined;
  const rateLimit = readRateLimit(response.headers);
  if (rateLimit) onRateLimit(rateLimit);
  const durationMs = platform.performance.now() - started;
  call.onResponse?.({ request, status, headers: response.headers, requestId, durationMs, rateLimit });
  const known = { ...details, status, requestId, retryAfterMs: readRetryAfterMs(response.headers) };
  const data = readBody(route, response, text, known, call.validate, redact);
  return data instanceof Error ? data : { data, response, requestId, attempts };
}

/**
 * Returns the body of a success, or an error. Every response that is not a success of the service itself is an error.
 *
 * @param redact removes the key from an error's message. It is not applied to data, in which the short key of a test may
 *   occur by chance
 */
function readBody(
  [operation, successStatus]: Route,
  { status, redirected }: Response,
  text: string,
  details: ErrorDetails,
  validate: Settings["validate"],
  redact: (text: string) => string,
): object | BikeShareError {
  const body = parseObject(text);
  if (status >= 400) return apiError(status, body, details, redact);
  let issue: string | undefined;
  // A browser shows a redirect that it did not follow as status 0.
  if (redirected || !status || status >= 300) issue = "a redirect";
  else if (status !== successStatus) issue = `status ${status}`;
  else if (!body) issue = "not JSON (a proxy?)";
  else issue = validate?.(operation, body);
  if (body && !issue) return body;
  return new UnexpectedResponseError(`${operation}: unexpected response: ${redact(String(issue))}`, details);
}

/** Returns the object or array in a JSON text; undefined for any other text. */
function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Parses the headers `RateLimit` (`"default";r=59;t=12`: remaining, reset) and `RateLimit-Policy`
 * (`"default";q=60;w=60`: limit, window; times in seconds). Undefined if they are absent or have another form.
 */
function readRateLimit(headers: Headers): RateLimit | undefined {
  const both = `${headers.get("ratelimit")} ${headers.get("ratelimit-policy")}`;
  const match = /r=(\d+); *t=(\d+).*q=(\d+); *w=(\d+)/.exec(both);
  const [, remaining = 0, reset = 0, limit = 0, window = 0] = match?.map(Number) ?? [];
  return limit > 0 ? { limit, windowMs: window * 1000, remaining, resetMs: reset * 1000 } : undefined;
}

/** Parses `Retry-After`, which has seconds or a date. @returns milliseconds; undefined if it is absent, invalid or past */
function readRetryAfterMs(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  // The date is compared with the response's `Date` header, because the clock of this machine may be wrong.
  const ms = Date.parse(text) - Date.parse(headers.get("date") ?? "");
  return ms >= 0 ? ms : undefined;
}
