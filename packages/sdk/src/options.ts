import { readBaseUrl } from "./core/address.ts";
import { given } from "./core/given.ts";
import { createPacer, type Pacer } from "./core/pacer.ts";
import { createRetryBudget, type RetryBudget } from "./core/retry-budget.ts";
import { WORLD, type World } from "./core/world.ts";
import { UsageError } from "./errors/errors.ts";
import type { Hooks } from "./hooks.ts";

/** How long and how often a call is tried. */
export interface Patience {
  /**
   * Milliseconds that one request may take, its answer's body included. Default 30,000. Lower and slow networks fail
   * though they would have answered; higher and a hanging connection is noticed later.
   */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * Milliseconds that a call may take in all: waits for the limit, requests and the pauses between them. Of a list,
   * each page is a call. Default 300,000, so that calls which queue for a limit of 60 a minute get their turn.
   * `Infinity` waits for any `Retry-After`.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * How often a request that failed is sent again, one that the limit refused included. Default 4; 0 is never. What
   * creates something is sent again under the same idempotency key only.
   */
  readonly maxRetries?: number | undefined;
}

/** What a single call may be told. */
export interface CallOptions extends Patience {
  /** Ends the call, its waits too; the call then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What a call that creates something may be told. */
export interface CreateOptions extends CallOptions {
  /**
   * 1 to 255 visible ASCII characters that stand for this one creation, however often it is asked for. Default: a new
   * one for each call, kept over its retries. Give your own to finish a creation after a restart.
   */
  readonly idempotencyKey?: string | undefined;
}

/** What a client is made of. */
export interface ClientOptions extends Patience, Hooks {
  /** The key, or a function that gives the present one: it is asked before each request. */
  readonly apiKey: string | (() => string | Promise<string>);
  /** The service's address: https, or http on this very machine. */
  readonly baseUrl: string;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Names your program to the operator, as in `acme-planner/2.1`. Browsers do not let it be sent. */
  readonly userAgent?: string | undefined;
  /**
   * Looks at every successful answer: `checkAnswer` of `@bikeshare/sdk/validate`. What it returns is what is wrong, and
   * becomes an `UnexpectedAnswerError`.
   */
  readonly validate?: ((operation: string, body: unknown) => string | undefined) | undefined;
}

/** The options in force, and what all calls of a client share. */
export interface Settings extends Omit<ClientOptions, keyof Patience | "fetch"> {
  readonly attemptTimeoutMs: number;
  readonly deadlineMs: number;
  readonly maxRetries: number;
  readonly fetch: World["fetch"];
  readonly world: World;
  readonly pacer: Pacer;
  readonly budget: RetryBudget;
}

/** What a call may be told. Without types a misspelt option would be left out in silence. */
const CALL_OPTIONS = ["attemptTimeoutMs", "deadlineMs", "maxRetries", "signal", "idempotencyKey"];
const CLIENT_OPTIONS = [
  ...CALL_OPTIONS.slice(0, 3),
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
 * Checks the options.
 *
 * @throws UsageError that names the option; never with a key in it
 */
export function readOptions(options: ClientOptions & { readonly [WORLD]?: World }): Settings {
  const { apiKey, baseUrl, [WORLD]: world = globalThis } = options;
  refuseUnknown(options, CLIENT_OPTIONS);
  if (typeof apiKey !== "function") checkText("apiKey", apiKey);
  const settings: Settings = {
    attemptTimeoutMs: 30_000,
    deadlineMs: 300_000,
    maxRetries: 4,
    // Looked up at each request, so that instruments which replace it later are used.
    fetch: (url, init) => world.fetch(url, init),
    ...given(options),
    apiKey,
    baseUrl: readBaseUrl(baseUrl),
    world,
    pacer: createPacer(world),
    budget: createRetryBudget(),
  };
  return withOptions(settings);
}

/**
 * What a call's own options make of a client's.
 *
 * @throws UsageError that names the option
 */
export function withOptions(settings: Settings, options: CreateOptions = {}): Settings & CreateOptions {
  refuseUnknown(options, CALL_OPTIONS);
  const all = { ...settings, ...given(options) };
  // Written so that what is no number fails too.
  if (all.attemptTimeoutMs > 0 && all.deadlineMs > 0 && all.maxRetries >= 0) return all;
  throw new UsageError("attemptTimeoutMs, deadlineMs must be above 0, maxRetries 0 or more");
}

function refuseUnknown(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name));
  if (unknown) throw new UsageError(`${unknown} is no option`);
}

/**
 * Checks what is to stand in a header: visible ASCII with blanks only inside, or it would be changed or refused.
 *
 * @returns the text
 * @throws UsageError with the name, but not the text
 */
export function checkText(name: string, text: unknown): string {
  if (typeof text === "string" && /^[!-~]([ -~]*[!-~])?$/.test(text)) return text;
  throw new UsageError(`${name} ${text ? "must be ASCII, trimmed" : "is not set"}`);
}
