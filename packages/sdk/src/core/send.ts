import { type BikeShareError, TimeoutError } from "../errors/errors.ts";
import { type IdempotentRequestOptions, type Settings, withOptions } from "../options.ts";
import { type ApiResponse, type Call, sendOnce } from "./attempt.ts";
import { sleep, withTimeout } from "./platform.ts";
import type { OnRateLimit } from "./rate-limiter.ts";
import { type ApiRequest, buildRequest, readIdempotencyKey } from "./request.ts";
import { isRetryable, retryDelayMs } from "./retry.ts";

/**
 * Makes a call: waits for the rate limit, sends the request, and sends it again while that may help.
 *
 * @throws UsageError for a wrong option or request, BikeShareError of the last attempt, TimeoutError at the deadline, the
 *   signal's reason, or what `sendOnce` throws
 */
export async function send(
  client: Settings,
  apiRequest: ApiRequest,
  options?: IdempotentRequestOptions,
): Promise<ApiResponse<object>> {
  const settings = withOptions(client, options);
  const { platform, totalTimeoutMs, signal } = settings;
  const { route, body } = apiRequest;
  const idempotencyKey = readIdempotencyKey(route, platform, settings.idempotencyKey);
  const call: Call = {
    ...settings,
    idempotencyKey,
    route,
    request: buildRequest(settings, apiRequest, idempotencyKey),
    body: body ? JSON.stringify(body) : null,
    deadline: platform.performance.now() + totalTimeoutMs,
    attempts: 0,
  };
  const onTimeout = () => timeoutError(call, `no response within ${totalTimeoutMs} ms`);
  return withTimeout(platform, totalTimeoutMs, signal, onTimeout, (callSignal) => sendWithRetries(call, callSignal));
}

async function sendWithRetries(call: Call, signal: AbortSignal): Promise<ApiResponse<object>> {
  const onWait = (ms: number) => announceWait(call, Math.ceil(ms));
  for (;;) {
    const request = { ...call.request, attempt: call.attempts + 1 };
    const attempt = (onRateLimit: OnRateLimit) => {
      call.attempts++;
      return sendOnce(call, request, signal, onRateLimit);
    };
    // `route[2]` is the kind of the endpoint. An open one does not count towards the rate limit.
    const isOpen = call.route[2] === "open";
    const outcome = await (isOpen ? attempt(() => {}) : call.rateLimiter.schedule(signal, onWait, attempt));
    if (!(outcome instanceof Error)) {
      call.retryBudget.earn();
      return outcome;
    }
    const delayMs = delayAfter(call, outcome);
    call.cause = outcome;
    call.onRetry?.({ request, error: outcome, delayMs });
    await sleep(call.platform, delayMs, signal);
  }
}

/** Calls the hook for a wait for the rate limit. @throws TimeoutError if the wait would end after the deadline */
function announceWait(call: Call, waitMs: number): void {
  if (endsAfterDeadline(call, waitMs)) {
    throw timeoutError(call, `the rate limit requires a wait of ${waitMs} ms`, waitMs);
  }
  call.onRateLimit?.({ operation: call.route[0], reason: "throttled", waitMs });
}

/** Returns the milliseconds to wait after a failed attempt. @throws the attempt's error if it was the last one */
function delayAfter(call: Call, error: BikeShareError): number {
  const { attempts, maxRetries, platform, rateLimiter, retryBudget } = call;
  const delayMs = retryDelayMs(attempts, error.retryAfterMs, platform.Math.random());
  const isRateLimited = error.status === 429;
  if (isRateLimited) {
    rateLimiter.pauseFor(delayMs);
    call.onRateLimit?.({ operation: call.route[0], reason: "rejected", waitMs: delayMs });
  }
  // If the delay would end after the deadline, the error is thrown now.
  if (attempts > maxRetries || !isRetryable(error) || endsAfterDeadline(call, delayMs)) throw error;
  // A 429 means that nothing was done, and it costs the service almost nothing. So its retry is safe and takes no token.
  // After any other failure, a request of the kind `once` could have its effect twice.
  if (!isRateLimited && (call.route[2] === "once" || !retryBudget.spend())) throw error;
  return delayMs;
}

function endsAfterDeadline({ platform, deadline }: Call, ms: number): boolean {
  return platform.performance.now() + ms >= deadline;
}

function timeoutError({ route, idempotencyKey, attempts, cause }: Call, message: string, retryAfterMs?: number) {
  return new TimeoutError(`${route[0]}: ${message}`, { idempotencyKey, attempts, cause, retryAfterMs });
}
