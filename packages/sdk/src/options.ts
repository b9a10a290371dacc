import { PLATFORM, type Platform } from "./core/platform.ts";
import { createRateLimiter, type RateLimiter } from "./core/rate-limiter.ts";
import { parseBaseUrl, requireHeaderValue, withoutUndefined } from "./core/request.ts";
import { createRetryBudget, type RetryBudget } from "./core/retry.ts";
import { UsageError } from "./errors/errors.ts";
import type { Hooks } from "./hooks.ts";

/** How long and how often a call is tried. */
export interface RetryOptions {
  /**
   * Milliseconds for one request, including the body of its response. Default 30,000. Too low: slow networks fail. Too
   * high: a hanging connection is noticed late.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Milliseconds that a call may take in total: waits for the rate limit, requests and the delays between them. Of a
   * list, each page is a call. Default 300,000, so that calls which queue for a limit of 60 a minute get their turn.
   * `Infinity` waits for any `Retry-After`.
   */
  readonly totalTimeoutMs?: number | undefined;
  /**
   * How often a failed request is sent again, one that the rate limit rejected included. Default 4; 0 is never. What
   * creates something is only sent again under the same idempotency key.
   */
  readonly maxRetries?: number | undefined;
}

/** The options of a single call. */
export interface RequestOptions extends RetryOptions {
  /** Ends the call, its waits too; the call then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a call that takes an idempotency key. */
export interface IdempotentRequestOptions extends RequestOptions {
  /**
   * 1 to 255 visible ASCII characters that stand for this one change, however often it is requested. Default: a new one
   * for each call, kept over its retries. Pass your own to finish a change after a restart.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The options of a client. */
export interface ClientOptions extends RetryOptions, Hooks {
  /** The API key, or a function that returns the present one: it is called before each request. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** The service's URL: https, or http on this machine. */
  readonly baseUrl: string;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Names your program to the operator, as in `acme-planner/2.1`. Browsers do not send it. */
  readonly userAgent?: string | undefined;
  /**
   * Checks every successful response: `validateResponse` of `@bikeshare/sdk/validate`. It returns what is wrong, which
   * becomes an `UnexpectedResponseError`.
   */
  readonly validate?: ((operation: string, body: unknown) => string | undefined) | undefined;
}

/** The options in force, and what all calls of a client share. */
export interface Settings extends Omit<ClientOptions, keyof RetryOptions | "fetch"> {
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxRetries: number;
  readonly fetch: Platform["fetch"];
  readonly platform: Platform;
  readonly rateLimiter: RateLimiter;
  readonly retryBudget: RetryBudget;
}

const RETRY_OPTIONS = ["timeoutMs", "totalTimeoutMs", "maxRetries"];
const REQUEST_OPTIONS = [...RETRY_OPTIONS, "signal", "idempotencyKey"];
const CLIENT_OPTIONS = [
  ...RETRY_OPTIONS,
  "apiKey",
  "baseUrl",
  "fetch",
  "userAgent",
  "validate",
  "onRequest",
  "onResponse",
  "onRetry",
  "onRateLimit",
];

/**
 * Checks a client's options.
 *
 * @throws UsageError that names the option; never with a key in it
 */
export function readOptions(options: ClientOptions & { readonly [PLATFORM]?: Platform }): Settings {
  const { apiKey, baseUrl, [PLATFORM]: platform = globalThis } = options;
  rejectUnknown(options, CLIENT_OPTIONS);
  if (typeof apiKey !== "function") requireHeaderValue("apiKey", apiKey);
  const settings: Settings = {
    timeoutMs: 30_000,
    totalTimeoutMs: 300_000,
    maxRetries: 4,
    // Looked up at each request, so that tools which replace it later are used.
    fetch: (url, init) => platform.fetch(url, init),
    ...withoutUndefined(options),
    apiKey,
    baseUrl: parseBaseUrl(baseUrl),
    platform,
    rateLimiter: createRateLimiter(platform),
    retryBudget: createRetryBudget(),
  };
  return withOptions(settings);
}

/**
 * Returns a client's settings with a call's own options.
 *
 * @throws UsageError that names the option
 */
export function withOptions(
  settings: Settings,
  options: IdempotentRequestOptions = {},
): Settings & IdempotentRequestOptions {
  rejectUnknown(options, REQUEST_OPTIONS);
  const all = { ...settings, ...withoutUndefined(options) };
  // Written so that what is not a number fails too.
  if (all.timeoutMs > 0 && all.totalTimeoutMs > 0 && all.maxRetries >= 0) return all;
  throw new UsageError("timeoutMs, totalTimeoutMs must be above 0, maxRetries 0 or more");
}

/** Without types, a misspelt option would be ignored silently. */
function rejectUnknown(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown) throw new UsageError(`unknown option ${unknown}`);
}
