import { setTimeout } from "node:timers/promises";

/** Reading and writing may fail apart: while a replica serves reads, or while a disk is full. */
export type RequestKind = "read" | "write";

/** A time in which no request of a kind was answered with success. Milliseconds; `from` by `performance.now()`. */
export interface Gap {
  readonly kind: RequestKind;
  readonly from: number;
  readonly lengthMs: number;
}

/** What came of the requests so far. Each attempt counts, repeats too. */
export interface RequestFigures {
  readonly attempts: number;
  /** Attempts without success, by what came: `503 unavailable`, `no answer: ECONNREFUSED`. */
  readonly errors: ReadonlyMap<string, number>;
  readonly gaps: readonly Gap[];
  /** Milliseconds of the slowest attempt, whatever came of it. */
  readonly slowestMs: number;
}

/** An answer other than `unavailable`. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface RequestInput {
  readonly kind: RequestKind;
  readonly method: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly key: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

/** Sends requests until they are answered, and keeps count of what came meanwhile. */
export interface Requests {
  readonly figures: RequestFigures;
  /** Answers that no service may give, whatever befalls it: internal errors, and `unavailable` without `Retry-After`. */
  readonly wrongAnswers: readonly string[];
  /** The same request again and again until the service has decided on it. Never rejects. */
  send(input: RequestInput): Promise<Answer>;
  /** Resolves when a request of each kind that was sent after now is answered. @returns milliseconds from now */
  untilServed(): Promise<number>;
}

/** What came of one attempt. */
export interface Attempt {
  readonly kind: RequestKind;
  /** By `performance.now()`. */
  readonly sentAt: number;
  readonly tookMs: number;
  /** As in `RequestFigures.errors`; undefined: a success. */
  readonly error: string | undefined;
}

/** What of `fetch` is needed here. */
export type Transport = (
  url: string,
  init: {
    readonly method: RequestInput["method"];
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly signal: AbortSignal;
  },
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

export interface RequestOptions {
  /** Default: `fetch`. */
  readonly transport?: Transport;
  readonly onAttempt?: (attempt: Attempt) => void;
}

/** Clients that wait longer would hide how soon the service is back. */
const PAUSE_BEFORE_REPEAT_MS = 100;
/** Longer than the service lets any of its own waits take. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Shorter pauses are the load's own. */
const SHORTEST_GAP_MS = 500;

/** @param base asked before each attempt: the service's address, or a load balancer's */
export function createRequests(base: () => string, options: RequestOptions = {}): Requests {
  const { transport = fetch, onAttempt } = options;
  const errors = new Map<string, number>();
  const gaps: Gap[] = [];
  const figures = { attempts: 0, errors, gaps, slowestMs: 0 };
  const wrongAnswers: string[] = [];
  const lastSuccess = { read: performance.now(), write: performance.now() };
  let waiting: { readonly since: number; readonly kinds: Set<RequestKind>; readonly done: () => void }[] = [];

  const noteSuccess = (kind: RequestKind, sentAt: number) => {
    const now = performance.now();
    const lengthMs = now - lastSuccess[kind];
    if (lengthMs >= SHORTEST_GAP_MS) gaps.push({ kind, from: lastSuccess[kind], lengthMs });
    lastSuccess[kind] = now;
    for (const each of waiting) {
      if (sentAt >= each.since) each.kinds.delete(kind);
      if (each.kinds.size === 0) each.done();
    }
    waiting = waiting.filter(({ kinds }) => kinds.size > 0);
  };
  const attempt = async (input: RequestInput): Promise<Answer | undefined> => {
    const sentAt = performance.now();
    figures.attempts++;
    const { answer, error, wrong } = await post(transport, base(), input);
    const tookMs = performance.now() - sentAt;
    onAttempt?.({ kind: input.kind, sentAt, tookMs, error });
    figures.slowestMs = Math.max(figures.slowestMs, tookMs);
    if (error !== undefined) errors.set(error, (errors.get(error) ?? 0) + 1);
    if (wrong !== undefined) wrongAnswers.push(`${input.method} ${input.path}: ${wrong}`);
    if (answer !== undefined) noteSuccess(input.kind, sentAt);
    return answer;
  };
  return {
    figures,
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
  };
}

interface Outcome {
  readonly answer?: Answer;
  readonly error?: string;
  readonly wrong?: string;
}

async function post(transport: Transport, base: string, input: RequestInput): Promise<Outcome> {
  const { method, path, key, body, idempotencyKey } = input;
  try {
    const response = await transport(base + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    return judge(response, await response.text());
  } catch (error) {
    return { error: `no answer: ${reasonOf(error)}` };
  }
}

function judge({ status, headers }: Awaited<ReturnType<Transport>>, text: string): Outcome {
  // What a load balancer says in the service's place need not be JSON.
  if (status === 502 || status === 504) return { error: `${status}` };
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { error: `${status} without JSON`, wrong: `${status} ${text.slice(0, 200)}` };
  }
  const code = errorOf(body);
  const error = `${status} ${code ?? ""}`;
  if (status === 503 && code === "unavailable") {
    return { error, ...(headers.get("retry-after") === null && { wrong: "503 without Retry-After" }) };
  }
  if (status >= 500) return { error, wrong: `${status} ${text.slice(0, 200)}` };
  return code === "idempotency_in_progress" ? { error } : { answer: { status, body } };
}

/** The code of an error's body; undefined for any other body. */
export function errorOf(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("error" in body)) return undefined;
  return typeof body.error === "string" ? body.error : undefined;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `fetch` wraps what happened.
  const { cause = error } = error;
  if (!(cause instanceof Error)) return error.name;
  return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
}
