import { describeFailure } from "../../addresses/dial-failure.ts";
import { readRetryAfter } from "../../http/retry-after.ts";
import { judgeUrl } from "../rules/receiver-url.ts";
import type { AddressRules } from "../rules/receiver-url.ts";
import type { AttemptRecord, AttemptRequest, AttemptResult, AttemptTimings, Header } from "./attempt.ts";
import type { WireRequest } from "./exchange.ts";
import { senderLimits } from "./sender-limits.ts";
import type { SenderLimits } from "./sender-limits.ts";
import { createTransport, unreached } from "./transport.ts";
import type { Carried } from "./transport.ts";

export type { AttemptResult } from "./attempt.ts";

export interface SenderOptions {
  readonly rules: AddressRules;
  /**
   * Milliseconds since 1970. Only for a `Retry-After` date in an answer without a `Date`, which does not count without
   * a clock.
   */
  readonly clock?: (() => number) | undefined;
  /** Milliseconds that never run backwards. */
  readonly monotonic?: (() => number) | undefined;
  /** DNS servers (`address:port`) instead of the system's. */
  readonly resolve?: { readonly servers: readonly string[] } | undefined;
  readonly limits?: Partial<SenderLimits> | undefined;
  /** Certificate authorities (PEM) instead of those that Node trusts. */
  readonly tls?: { readonly ca?: string | undefined } | undefined;
}

/** Makes attempts: signed requests in, results out. */
export interface Sender {
  /**
   * Makes one POST. Whatever the far side does is a result.
   * @throws Error when the request itself is malformed, or the sender is closed
   */
  send(request: AttemptRequest): Promise<AttemptResult>;
  /** Begins nothing more, waits for the attempts under way (15 s at most) and closes the kept connections. */
  close(): Promise<void>;
}

/**
 * A sender over HTTP/1.1 that calls only addresses that the rules allow. Knows no proxies and no cookies, unpacks
 * nothing and follows nothing. Connections are kept for the next attempt to the same origin.
 */
export function createSender({ rules, clock, resolve, tls, ...options }: SenderOptions): Sender {
  const { monotonic = () => performance.now() } = options;
  const limits = { ...senderLimits, ...options.limits };
  const transport = createTransport({ rules, limits, monotonic, servers: resolve?.servers, ca: tls?.ca });
  const judge = rememberVerdicts(rules);
  // Counted, not collected: a set that is added to and taken from for ever leaves a chain of its old tables, and each
  // holds the results of its time until the next full garbage collection.
  let running = 0;
  let isClosed = false;
  const idle = Promise.withResolvers<void>();

  async function attempt(request: AttemptRequest): Promise<AttemptResult> {
    const began = monotonic();
    const verdict = judge(request.url);
    if (!verdict.ok) {
      const failure = verdict.reason === "address" ? "address_refused" : "url_refused";
      const carried = unreached(describeFailure(failure, verdict.message));
      return report(carried, { sent: [], clock, totalMs: monotonic() - began });
    }
    const wire = toWire(verdict.url, request);
    const carried = await transport.carry(verdict.url, wire, began);
    return report(carried, { sent: sentHeaders(verdict.url, wire), clock, totalMs: monotonic() - began });
  }

  return {
    async send(request) {
      if (isClosed) throw new Error("The sender is closed.");
      running++;
      try {
        return await attempt(request);
      } finally {
        running--;
        if (isClosed && running === 0) idle.resolve();
      }
    },
    async close() {
      isClosed = true;
      if (running > 0) await idle.promise;
      transport.close();
    },
  };
}

/** Verdicts remembered at a time; an endpoint's URL is judged again after so many others. */
const REMEMBERED = 1_000;

/** Judges URLs. The verdict follows from the text and the rules alone, so that a repeated one costs a look-up. */
function rememberVerdicts(rules: AddressRules): (url: string) => ReturnType<typeof judgeUrl> {
  const verdicts = new Map<string, ReturnType<typeof judgeUrl>>();
  return (url) => {
    const known = verdicts.get(url);
    if (known !== undefined) return known;
    const verdict = judgeUrl(url, rules);
    if (verdicts.size >= REMEMBERED) verdicts.clear();
    verdicts.set(url, verdict);
    return verdict;
  };
}

/** Headers of the connection's own; a second one from outside would make the log a lie. */
const ownHeaders: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "upgrade",
  "expect",
]);

function toWire(url: URL, { headers, body }: AttemptRequest): WireRequest {
  const own = headers.find(([name]) => ownHeaders.has(name.toLowerCase()));
  if (own !== undefined) throw new Error(`The header ${own[0]} is written by the sender itself.`);
  const bytes = typeof body === "string" ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.length);
  return { path: url.pathname + url.search, headers, body: bytes };
}

/** What undici writes for a request, in its order; a test compares it with what arrives. */
function sentHeaders({ host }: URL, { headers, body }: WireRequest): Header[] {
  return [["host", host], ["connection", "keep-alive"], ...headers, ["content-length", String(body.length)]];
}

interface ReportContext {
  readonly sent: readonly Header[];
  readonly clock: (() => number) | undefined;
  readonly totalMs: number;
}

function report(carried: Carried, { sent, clock, totalMs }: ReportContext): AttemptResult {
  const { exchanged, dialled } = carried;
  const { failure, status } = exchanged;
  const record: AttemptRecord = {
    sentHeaders: exchanged.isWritten ? sent : [],
    remoteAddress: carried.remoteAddress,
    reusedConnection: carried.isReused,
    answerHeaders: exchanged.headers,
    answerBody: exchanged.body,
    answerCut: exchanged.isCut,
    retryAfterMs: readRetryAfter(exchanged.headers, clock),
    timings: rounded({ ...dialled, firstByte: exchanged.firstByteMs, total: totalMs }),
  };
  if (failure !== null || status === null) {
    const { failure: code, detail } = failure ?? describeFailure("protocol", "The answer has no status.");
    return { ...record, outcome: "failed", status, failure: code, detail };
  }
  const outcome = status >= 200 && status < 300 ? "succeeded" : "rejected";
  return { ...record, outcome, status, failure: null, detail: null };
}

/** To a thousandth of a millisecond: more is noise that only fills the log. */
function rounded({ dns, connect, tls, firstByte, total }: AttemptTimings): AttemptTimings {
  return {
    dns: round(dns),
    connect: round(connect),
    tls: round(tls),
    firstByte: round(firstByte),
    total: Math.round(total * 1000) / 1000,
  };
}

function round(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}
