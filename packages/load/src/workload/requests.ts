import { setTimeout } from "node:timers/promises";
import { type Answer as HttpAnswer, createHttpClient, type HttpClientOptions } from "../http/client.ts";
import type { Attempt, RequestKind } from "./attempts.ts";

/* The requests of a workload's clients: repeated until the service decides on them, with a record of each attempt. */

/** An answer with which the service has decided on the request, unlike `503 unavailable`. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

interface RequestInput {
  readonly kind: RequestKind;
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly key: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

/** Sends requests until they are answered, and records each attempt. */
export interface Requests {
  /** Every attempt, in the order of its end. */
  readonly attempts: readonly Attempt[];
  /**
   * Answers that are wrong even during an outage: internal errors, answers that are not JSON (other than 502 and 504), and
   * `503 unavailable` without `Retry-After`.
   */
  readonly wrongAnswers: readonly string[];
  /** Repeats a request until the service has decided on it. Never rejects. */
  send(input: RequestInput): Promise<Answer>;
  /** Waits until a read and a write that are sent from now on have been answered. @returns milliseconds from now */
  untilServed(): Promise<number>;
  /** Closes the connections. */
  close(): void;
}

/** Pause before a repeat. Too high: hides how soon the service is back. */
const PAUSE_BEFORE_REPEAT_MS = 100;
/** Timeout of a request. It exceeds the longest wait inside the service. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Maximum connections. It exceeds the number of clients, so that no client waits for another. */
const MAX_CONNECTIONS = 5_000;

/** @param base the service's address, or a load balancer's */
export function createRequests(base: string, options: Partial<HttpClientOptions> = {}): Requests {
  const client = createHttpClient(base, { connections: MAX_CONNECTIONS, timeoutMs: REQUEST_TIMEOUT_MS, ...options });
  const attempts: Attempt[] = [];
  const wrongAnswers: string[] = [];
  /** The calls of `untilServed`, each with the kinds of requests that it still waits for. */
  let waiting: { readonly since: number; readonly kinds: Set<RequestKind>; readonly done: () => void }[] = [];

  /** Ends the waits of `untilServed` that an answered request satisfies: those that began before it was sent. */
  const noteSuccess = (kind: RequestKind, sentAt: number) => {
    for (const each of waiting) {
      if (sentAt >= each.since) each.kinds.delete(kind);
      if (each.kinds.size === 0) each.done();
    }
    waiting = waiting.filter(({ kinds }) => kinds.size > 0);
  };
  const attempt = async ({ kind, method, path, key, body, idempotencyKey }: RequestInput) => {
    const sentAt = performance.now();
    const came = await client.ask({
      method,
      path,
      key,
      body: body === undefined ? undefined : JSON.stringify(body),
      ...(idempotencyKey !== undefined && { headers: { "idempotency-key": idempotencyKey } }),
    });
    const { answer, error, wrong } = judge(came);
    attempts.push({ kind, sentAt, tookMs: performance.now() - sentAt, error });
    if (wrong !== undefined) wrongAnswers.push(`${method} ${path}: ${wrong}`);
    if (answer !== undefined) noteSuccess(kind, sentAt);
    return answer;
  };
  return {
    attempts,
    wrongAnswers,
    async send(input) {
      for (;;) {
        const answer = await attempt(input);
        if (answer !== undefined) return answer;
        await setTimeout(PAUSE_BEFORE_REPEAT_MS);
      }
    },
    async untilServed() {
      const since = performance.now();
      await new Promise<void>((resolve) => {
        waiting.push({ since, kinds: new Set<RequestKind>(["read", "write"]), done: resolve });
      });
      return performance.now() - since;
    },
    close: () => client.close(),
  };
}

/**
 * Judges an answer: `answer` is a decision of the service; `error` says why the request is to be repeated; `wrong` says what
 * no answer may be, even during an outage.
 */
function judge({ status, outcome, body: text, headers }: HttpAnswer): {
  answer?: Answer;
  error?: string;
  wrong?: string;
} {
  if (status === 0) return { error: `no answer: ${outcome}` };
  // The answer of a load balancer need not be JSON.
  if (status === 502 || status === 504) return { error: `${status}` };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { error: `${status} without JSON`, wrong: `${status} ${text.slice(0, 200)}` };
  }
  if (outcome === "503 unavailable") {
    return { error: outcome, ...(headers["retry-after"] === undefined && { wrong: "503 without Retry-After" }) };
  }
  if (status >= 500) return { error: outcome, wrong: `${status} ${text.slice(0, 200)}` };
  // An earlier attempt of the same request is still being carried out: a later repeat gets its answer.
  return errorOf(body) === "idempotency_in_progress" ? { error: outcome } : { answer: { status, body } };
}

/** Returns the error code of a body; undefined: it has none. */
export function errorOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  return typeof body.error === "string" ? body.error : undefined;
}
