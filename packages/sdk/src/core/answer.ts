import { type BikeShareError, type ErrorFacts, UnexpectedAnswerError } from "../errors/errors.ts";
import { apiError } from "../errors/from-answer.ts";
import type { ClientOptions } from "../options.ts";
import type { RateLimit } from "./pacer.ts";
import type { Route } from "./route.ts";

/**
 * Reads an answer: the body of a success, or an error. Whatever is not the service's own success is an error; nothing
 * is guessed.
 *
 * @param text the answer's body
 * @param facts what an error is to tell
 * @param validate says what is wrong with a body
 * @param redact takes the key out of an error's message. Data is never changed: a key as short as those of tests may
 *   occur in it
 */
export function readAnswer(
  [operation, success]: Route,
  { status, redirected }: Response,
  text: string,
  facts: ErrorFacts,
  validate: ClientOptions["validate"],
  redact: (text: string) => string,
): object | BikeShareError {
  const body = parse(text);
  if (status >= 400) return apiError(status, body, facts, redact);
  let fault: string | undefined = `status ${status}`;
  // A browser hides the redirect that it did not follow behind status 0.
  if (redirected || !status || status >= 300) {
    fault = "a redirect";
  } else if (status === success) {
    fault = body ? validate?.(operation, body) : "no JSON: a proxy?";
    if (body && !fault) return body;
  }
  return new UnexpectedAnswerError(`${operation} was answered with ${redact(String(fault))}`, facts);
}

/** The object or array in a text. */
function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What `RateLimit` and `RateLimit-Policy` say; undefined where they are absent or of another form. */
export function readRateLimit(headers: Headers): RateLimit | undefined {
  const both = `${headers.get("ratelimit")} ${headers.get("ratelimit-policy")}`;
  const [, remaining = 0, reset = 0, limit, window = 0] =
    /r=(\d+); *t=(\d+).*q=(\d+); *w=(\d+)/.exec(both)?.map(Number) ?? [];
  return limit ? { limit, windowMs: window * 1000, remaining, resetMs: reset * 1000 } : undefined;
}

/** Milliseconds that `Retry-After` asks for, in seconds or as a date; undefined where it says nothing. */
export function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  // A date is compared with that of the answer: the clock here may be wrong.
  const ms = Number(text) * 1000 || Date.parse(text) - Date.parse(headers.get("date") ?? "");
  return ms >= 0 ? Math.ceil(ms) : undefined;
}
