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
   * Milliseconds that a call may take in total: waits for the rate limit, requests and the delays between them. In a list,
   * each page is a call. Default 300,000, so that a call can wait for its turn when many calls share a limit of 60 a minute.
   * `Infinity` accepts any `Retry-After`.
   */
  readonly totalTimeoutMs?: number | undefined;
  /**
   * How often a failed request is sent again at most, also after a rejection by the rate limit. Default 4; 0: never. A
   * request that takes an idempotency key is sent again with the same one.
   */
  readonly maxRetries?: number | undefined;
}

/** The options of a single call. */
export interface RequestOptions extends RetryOptions {
  /** Ends the call, even while it waits. The call then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of a call that takes an idempotency key. */
export interface IdempotentRequestOptions extends RequestOptions {
  /**
   * 1 to 255 visible ASCII characters that identify one change, so that the service carries it out once even if it is
   * requested several times. Default: a new key for each call, and the same for its retries. Pass your own key to be able to
   * repeat a change after a restart of your program.
   */
  readonly idempotencyKey?: string | undefined;
}

/** The options of a client. */
export interface ClientOptions extends RetryOptions, Hooks {
  /** The API key, or a function that returns it. The function is called before each request that needs a key. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** The service's URL: https, or http on this machine. */
  readonly baseUrl: string;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Names your program to the operator, as in `acme-planner/2.1`. Browsers do not send it. */
  readonly userAgent?: string | undefined;
  /**
   * Checks every successful response, such as `validateResponse` of `@bikeshare/sdk/validate`. If it returns what is wrong,
   * the call throws an `UnexpectedResponseError`.
   */
  readonly validate?: ((operation: string, body: unknown) => string | undefined) | undefined;
}

/** A client's options with defaults, and the state that all its calls share. */
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
 * @throws UsageError that names the option. It never contains a key
 */
export function readOptions(options: ClientOptions & { readonly [PLATFORM]?: Platform }): Settings {
  // Tests pass a platform of their own, with a clock that they move.
  const { apiKey, baseUrl, [PLATFORM]: platform = globalThis } = options;
  rejectUnknown(options, CLIENT_OPTIONS);
  if (typeof apiKey !== "function") requireHeaderValue("apiKey", apiKey);
  const settings: Settings = {
    timeoutMs: 30_000,
    totalTimeoutMs: 300_000,
    maxRetries: 4,
    // `fetch` is looked up at each request, so that a tool can replace it after the client was made.
    fetch: (url, init) => platform.fetch(url, init),
    ...withoutUndefined(options),
    apiKey,
    baseUrl: parseBaseUrl(baseUrl),
    platform,
    rateLimiter: createRateLimiter(platform),
    retryBudget: createRetryBudget(),
  };
  // It overrides nothing here, but checks the numbers.
  return withOptions(settings);
}

/**
 * Returns a client's settings, overridden by the options of one call.
 *
 * @throws UsageError that names the option
 */
export function withOptions(
  settings: Settings,
  options: IdempotentRequestOptions = {},
): Settings & IdempotentRequestOptions {
  rejectUnknown(options, REQUEST_OPTIONS);
  const all = { ...settings, ...withoutUndefined(options) };
  // Written without negation, so that NaN fails too.
  if (all.timeoutMs > 0 && all.totalTimeoutMs > 0 && all.maxRetries >= 0) return all;
  throw new UsageError("timeoutMs, totalTimeoutMs must be above 0, maxRetries 0 or more");
}

/** Rejects unknown options. Otherwise a misspelt option would be ignored in a program without types. */
function rejectUnknown(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown) throw new UsageError(`unknown option ${unknown}`);
}
