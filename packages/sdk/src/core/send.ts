import { type BikeShareError, TimeoutError } from "../errors/errors.ts";
import { checkText, type CreateOptions, type Settings, withOptions } from "../options.ts";
import { VERSION } from "../version.ts";
import { fillPath, type Query } from "./address.ts";
import { type Answered, attempt } from "./attempt.ts";
import { given } from "./given.ts";
import type { OnRate } from "./pacer.ts";
import { pauseAfter } from "./retry-pause.ts";
import { isPassing } from "./retry-policy.ts";
import type { Route } from "./route.ts";
import { sleep, within } from "./waiting.ts";

/** What a call wants. */
export interface Wanted {
  readonly route: Route;
  readonly id?: string | undefined;
  readonly query?: Query;
  readonly body?: object;
}

/**
 * Makes a call: waits for its turn, sends, and sends again while that may help.
 *
 * @throws BikeShareError of the last attempt, TimeoutError at the deadline, or the signal's reason
 */
export async function send(client: Settings, wanted: Wanted, options?: CreateOptions): Promise<Answered<object>> {
  const settings = withOptions(client, options);
  const { world, pacer, budget, deadlineMs } = settings;
  const { route, body } = wanted;
  const [operation, , kind] = route;
  // Made once: however often it is sent, it is the same creation.
  const own =
    kind === "idempotent"
      ? { idempotencyKey: checkText("idempotencyKey", settings.idempotencyKey ?? world.crypto.randomUUID()) }
      : {};
  const note = prepare(settings, wanted, own);
  const text = body ? JSON.stringify(body) : null;
  const deadline = world.performance.now() + deadlineMs;
  let attempts = 0;
  let cause: BikeShareError | undefined;
  const late = (what = `had no answer within ${deadlineMs} ms`, retryAfterMs?: number) =>
    new TimeoutError(`${operation} ${what}`, { ...own, attempts, cause, retryAfterMs });
  const isLate = (ms: number) => world.performance.now() + ms >= deadline;
  const tell = (reason: "ahead" | "refused", waitMs: number) => settings.onRateLimit?.({ operation, reason, waitMs });
  const onWait = (ms: number) => {
    const waitMs = Math.ceil(ms);
    if (isLate(waitMs)) throw late(`would wait ${waitMs} ms for the limit`, waitMs);
    tell("ahead", waitMs);
  };
  const work = async (signal: AbortSignal) => {
    for (;;) {
      const request = { ...note, attempt: attempts + 1 };
      const sendOnce = (onRate: OnRate) =>
        attempt(settings, route, request, text, { ...own, attempts: ++attempts }, signal, onRate);
      const outcome = await (kind === "open" ? sendOnce(() => {}) : pacer.inTurn(signal, onWait, sendOnce));
      if (!(outcome instanceof Error)) {
        budget.earn();
        return outcome;
      }
      const delayMs = pauseAfter(attempts, outcome.retryAfterMs, world.Math.random());
      // What the limit refused cost the service next to nothing: it waits with all others, and is not in the budget.
      const isRefused = outcome.status === 429;
      if (isRefused) {
        pacer.pause(delayMs);
        tell("refused", delayMs);
      }
      // A pause that would end after the deadline is not begun: what is known now is said now.
      if (attempts > settings.maxRetries || !isPassing(outcome) || isLate(delayMs)) throw outcome;
      if (!isRefused && !budget.take()) throw outcome;
      cause = outcome;
      settings.onRetry?.({ request, error: outcome, delayMs });
      await sleep(world, delayMs, signal);
    }
  };
  return within(world, deadlineMs, settings.signal, late, work);
}

/**
 * A request as hooks see it, and as it is sent but for the key.
 *
 * @throws UsageError for what cannot be sent
 */
function prepare(
  { baseUrl, userAgent = "", world }: Settings,
  { route: [operation, , kind], id, query = {}, body }: Wanted,
  { idempotencyKey }: { readonly idempotencyKey?: string },
) {
  const [method, path] = operation.split(" ") as [string, string]; // That is how the routes are written.
  const headers = given({
    accept: "application/json",
    authorization: kind === "open" ? undefined : "Bearer [redacted]",
    // A blank at the beginning is not sent. A browser names itself, and would first ask the service whether another name is welcome.
    "user-agent": world.document ? undefined : `${userAgent} bikeshare-sdk/${VERSION}`,
    "content-type": body && "application/json",
    "idempotency-key": idempotencyKey,
  });
  return { operation, method, url: baseUrl + fillPath(path, id, query), headers };
}
