import { BikeShareError, ConnectionError, type ErrorFacts, TimeoutError } from "../errors/errors.ts";
import { causeOf } from "../errors/redact.ts";
import type { RequestNote } from "../hooks.ts";
import { checkText, type Settings } from "../options.ts";
import { readAnswer, readRateLimit, readRetryAfter } from "./answer.ts";
import type { OnRate } from "./pacer.ts";
import type { Route } from "./route.ts";
import { within } from "./waiting.ts";

/** A successful answer. */
export interface Answered<Data> {
  /** What the call gives. */
  readonly data: Data;
  /** Status and headers. Its body has been read. */
  readonly response: Response;
  /** The answer's `Request-Id`. */
  readonly requestId: string | undefined;
  /** Requests that were sent for it. */
  readonly attempts: number;
}

/** What an error of an attempt tells: at least its number. */
export type AttemptFacts = ErrorFacts & { readonly attempts: number };

/**
 * Sends a request once and reads its answer to the end. What the network or the service does is returned, not thrown.
 *
 * @param request without the key
 * @param onRate told what the answer says of the limit
 * @throws the signal's reason; what a hook throws
 */
export async function attempt(
  settings: Settings,
  route: Route,
  request: RequestNote,
  body: string | null,
  facts: AttemptFacts,
  signal: AbortSignal,
  onRate: OnRate,
): Promise<Answered<object> | BikeShareError> {
  const { apiKey, attemptTimeoutMs, world } = settings;
  const key = route[2] === "open" ? "" : checkText("apiKey", typeof apiKey === "string" ? apiKey : await apiKey());
  const redact = (text: string) => (key ? text.replaceAll(key, "[redacted]") : text);
  const { operation, method, url, headers: shown } = request;
  const headers = key ? { ...shown, authorization: `Bearer ${key}` } : shown;
  settings.onRequest?.(request);
  const started = world.performance.now();
  const late = () => new TimeoutError(`${operation} had no answer within ${attemptTimeoutMs} ms`, facts);
  const received = await within(world, attemptTimeoutMs, signal, late, async (limited) => {
    // Where a redirect leads must get neither the key nor what the answer tells.
    const response = await settings.fetch(url, { method, headers, redirect: "manual", signal: limited, body });
    return [response, await response.text()] as const;
  }).catch((thrown: unknown) => {
    signal.throwIfAborted();
    if (thrown instanceof BikeShareError) return thrown;
    const cause = causeOf(thrown, redact);
    return new ConnectionError(`${operation} had no answer: ${cause.message}`, { ...facts, cause });
  });
  if (received instanceof Error) return received;
  const [response, text] = received;
  const { status, headers: answered } = response;
  const requestId = answered.get("request-id") ?? undefined;
  const rateLimit = readRateLimit(answered);
  const durationMs = world.performance.now() - started;
  if (rateLimit) onRate(rateLimit);
  settings.onResponse?.({ request, status, headers: answered, requestId, durationMs, rateLimit });
  const known = { ...facts, status, requestId, retryAfterMs: readRetryAfter(answered) };
  const data = readAnswer(route, response, text, known, settings.validate, redact);
  return data instanceof Error ? data : { data, response, requestId, attempts: facts.attempts };
}
