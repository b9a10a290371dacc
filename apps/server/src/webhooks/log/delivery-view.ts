import { EVENT_RETENTION_DAYS } from "@bikeshare/contract";
import { addDays, dayOf } from "../../storage/partitions/partition.rules.ts";
import { describeStatus, isRemoved } from "../endpoints/endpoint-context.ts";
import type { EndpointRow } from "../endpoints/endpoint-queries.ts";
import { DROPPED, isTestDelivery, SKIPPED } from "../queue/sql-fragments.ts";
import { describeOutcome, MAX_TRIES, SET_ASIDE } from "../rules/after-attempt.ts";
import type { AttemptRow, DeliveryRow, LatestAttempt } from "./delivery-queries.ts";

/* Explains a delivery in words, and makes its logged attempts readable. */

type ExplainedDelivery = Pick<
  DeliveryRow,
  | "id"
  | "created_on"
  | "created_at"
  | "status"
  | "attempts"
  | "latest_failure"
  | "finished_at"
  | "due_at"
  | "tries"
  | "replay"
  | "claimed_at"
>;
/** How an attempt ended, as the log has it; `DetailedEnd`: with the description of a failure. */
type LoggedEnd = Pick<LatestAttempt, "outcome" | "failure" | "status">;
type DetailedEnd = LoggedEnd & Pick<LatestAttempt, "detail">;

/** The circumstances that a delivery's state depends on. */
interface Circumstances {
  readonly endpoint: Pick<EndpointRow, "status" | "pause_reason" | "paused_at">;
  /** Whether any process is sending. */
  readonly isSending: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Texts that tell the reader how to send the delivery again: commands, or the names of buttons. */
  readonly hints: Hints;
}

/** Remedies in an explanation, for its reader. Each continues a sentence. */
export interface Hints {
  /** For a delivery that was given up, dropped or skipped. */
  readonly resend: string;
  /** For a held delivery whose endpoint is no longer paused. */
  readonly resendHeld: string;
  /** For a pending delivery that is not queued. */
  readonly queue: string;
  /** For a held delivery whose endpoint was removed. */
  readonly setUp: string;
  /** For a pending delivery while no process sends. */
  readonly start: string;
}

/** For the operator at the command line: names of commands. */
export const commandHints: Hints = {
  resend: "`redeliver` sends it again",
  resendHeld: "`send-held` sends it with the others that are held, `redeliver` alone",
  queue: "`redeliver` queues it",
  setUp: "once `set` has made it anew, `redeliver` or `replay` sends it",
  start: "start `serve`",
};

/** For pages, and for partners' programs. */
export const pageHints: Hints = {
  resend: "it can be resent",
  resendHeld: "resend it",
  queue: "resend it",
  setUp: "once it is set up anew, resend it",
  start: "tell the operator",
};

/**
 * Returns an explanation of a delivery's state: when it arrived, or why it has not.
 * @param last its latest attempt; undefined: none was made, or it is not known
 */
export function explainDelivery(
  delivery: ExplainedDelivery,
  circumstances: Circumstances,
  last: DetailedEnd | undefined,
): string {
  const result = last === undefined ? "" : `; the latest attempt: ${describeFully(last)}`;
  switch (delivery.status) {
    case "succeeded": {
      const answered = last?.status ? `, answered ${last.status}` : "";
      return `arrived ${at(delivery.finished_at)} at attempt ${delivery.attempts}${answered}`;
    }
    case "failed":
      return explainFailed(delivery, circumstances, result);
    case "held":
      return explainHeld(delivery, circumstances);
    case "pending": {
      const stalled = circumstances.isSending ? "" : `${STALLED}: ${circumstances.hints.start}`;
      return `${explainPending(delivery, circumstances)}${result}${stalled}`;
    }
  }
}

/** @param result the text about the latest attempt; empty: it is not known */
function explainFailed(delivery: ExplainedDelivery, circumstances: Circumstances, result: string): string {
  const { latest_failure: failure, finished_at: finishedAt } = delivery;
  const attempts = count(delivery.attempts);
  const ways = waysOn(delivery, circumstances);
  if (failure === DROPPED) return `dropped ${at(finishedAt)} on request, while it was held, after ${attempts}; ${ways}`;
  if (failure === SKIPPED)
    return `skipped ${at(finishedAt)}: the webhook had been sent as many in this hour as it takes; ${ways}`;
  return `given up ${at(finishedAt)} after ${attempts}${result}; ${ways}`;
}

const STALLED = "; no process that sends webhooks is running";

/** Returns the outcome of an attempt in a few words. */
function describeEnd(end: LoggedEnd): string {
  const words = describeOutcome(end);
  if (end.outcome === "unknown" && end.failure === SET_ASIDE) return `${words}: three processes ended while sending it`;
  if (end.outcome === "unknown") return `${words}: its process ended before it could say`;
  return end.outcome === "rejected" && isRedirect(end.status) ? `${words}, a redirect, which is not followed` : words;
}

/** Returns the outcome of an attempt, with the log's message about a failure. */
function describeFully(last: DetailedEnd): string {
  const words = last.outcome === "failed" && last.detail !== null ? `: ${last.detail.replace(/\.$/, "")}` : "";
  return `${describeEnd(last)}${words}`;
}

function isRedirect(status: number | null): boolean {
  return status !== null && status >= 300 && status < 400;
}

/** Returns what can be done about a delivery that is no longer tried. */
function waysOn(delivery: ExplainedDelivery, { now, hints }: Circumstances): string {
  if (isTestDelivery(delivery.id)) return "a test is tried once";
  return isPast(delivery, now) ? PAST : hints.resend;
}

function explainHeld(delivery: ExplainedDelivery, { endpoint, now, hints }: Circumstances): string {
  const held = `held since ${at(delivery.finished_at ?? delivery.created_at)}`;
  const kept = isPast(delivery, now) ? PAST : `kept through ${lastDayOf(delivery)}`;
  if (isRemoved(endpoint)) {
    return `${held} because the endpoint is ${describeStatus(endpoint)}; ${hints.setUp}; ${kept}`;
  }
  if (endpoint.status === "paused") return `${held} because the endpoint is ${describeStatus(endpoint)}; ${kept}`;
  return `${held}, when the endpoint was paused; it no longer is: ${hints.resendHeld}; ${kept}`;
}

function explainPending(delivery: ExplainedDelivery, { endpoint, now, hints }: Circumstances): string {
  const { id, due_at: dueAt, tries, claimed_at: claimedAt, replay } = delivery;
  if ((dueAt === null || tries === null) && isPast(delivery, now)) return `never sent; ${PAST}`;
  if (dueAt === null || tries === null) return `pending, but not queued, which must not be: ${hints.queue}`;
  const attempt = isTestDelivery(id) ? "the one attempt of a test" : `attempt ${tries + 1} of ${MAX_TRIES}`;
  if (claimedAt !== null) return `being sent since ${at(claimedAt)}: ${attempt}`;
  if (endpoint.status === "paused") return `queued, about to be held: the endpoint is ${describeStatus(endpoint)}`;
  if (dueAt.getTime() > now) return `queued: ${attempt} due at ${at(dueAt)}`;
  const behind = replay === true ? ", sent again on request, after what happens now" : "";
  const probing = endpoint.status === "probing" ? ", one delivery at a time until one succeeds" : "";
  return `queued: ${attempt} due since ${at(dueAt)}${behind}${probing}`;
}

/**
 * The text for a delivery whose retention is over. It is still listed because its day is dropped a little later, with its
 * body.
 */
const PAST = `its ${EVENT_RETENTION_DAYS} days are over, and what it said is no longer kept`;

function isPast(delivery: ExplainedDelivery, now: number): boolean {
  return lastDayOf(delivery) < dayOf(now);
}

/** Returns the last day on which a delivery is stored: whole days are dropped once they are old enough. */
function lastDayOf({ created_on: day }: ExplainedDelivery): string {
  return addDays(day, EVENT_RETENTION_DAYS);
}

function at(instant: Date | null): string {
  return instant === null ? "" : instant.toISOString();
}

function count(attempts: number): string {
  if (attempts === 0) return "no attempt";
  return attempts === 1 ? "1 attempt" : `${attempts} attempts`;
}

/** A response body: as text, or as base64 if it is not text. */
interface ShownBody {
  readonly encoding: "utf-8" | "base64";
  readonly text: string;
  /** More was received than is stored. */
  readonly truncated: boolean;
}

/** One attempt: the request, the response, the duration and the consequence. */
export interface Exchange extends Pick<
  AttemptRow,
  | "number"
  | "started_at"
  | "outcome"
  | "failure"
  | "detail"
  | "url"
  | "remote_address"
  | "next_attempt_at"
  | "next_attempt_reason"
> {
  readonly summary: string;
  /** Null when the exact request is not known. */
  readonly request: { readonly headers: readonly HeaderPair[]; readonly body: string } | null;
  /** Null: no response was received. */
  readonly answer: {
    readonly status: number;
    readonly headers: readonly HeaderPair[];
    readonly body: ShownBody;
    /** The reason why no more of the headers and body is stored; null: only the limits of every response apply. */
    readonly truncation_reason: AttemptRow["truncation_reason"];
  } | null;
  /** Milliseconds; null: the attempt did not get that far, or its connection was reused. */
  readonly timings: Readonly<Record<"dns" | "connect" | "tls" | "first_byte" | "total", number | null>>;
}

export type HeaderPair = readonly [name: string, value: string];

/** Makes a row of the log readable. */
export function readExchange(row: AttemptRow): Exchange {
  const { dns_ms: dns, connect_ms: connect, tls_ms: tls, first_byte_ms: first_byte, total_ms: total } = row;
  return {
    number: row.number,
    started_at: row.started_at,
    outcome: row.outcome,
    failure: row.failure,
    detail: row.detail,
    url: row.url,
    remote_address: row.remote_address,
    summary: describeEnd(row),
    request: requestOf(row),
    answer: answerOf(row),
    timings: { dns, connect, tls, first_byte, total },
    next_attempt_at: row.next_attempt_at,
    next_attempt_reason: row.next_attempt_reason,
  };
}

function requestOf({ request_headers: headers, request_body: body }: AttemptRow): Exchange["request"] {
  return headers === null ? null : { headers: readHeaders(headers), body: body ?? "" };
}

function answerOf(row: AttemptRow): Exchange["answer"] {
  if (row.status === null) return null;
  return {
    status: row.status,
    headers: readHeaders(row.response_headers ?? "[]"),
    body: showBody(row.response_body ?? new Uint8Array(), row.response_truncated),
    truncation_reason: row.truncation_reason,
  };
}

function readHeaders(json: string): HeaderPair[] {
  const pairs: unknown = JSON.parse(json);
  if (!Array.isArray(pairs)) return [];
  return pairs.flatMap((pair: unknown) => (Array.isArray(pair) ? [[String(pair[0]), String(pair[1])] as const] : []));
}

/** Returns the bytes as text; as base64 where they are not UTF-8. A character that was cut in two at the end is left out. */
export function showBody(bytes: Uint8Array, truncated: boolean): ShownBody {
  try {
    // With `stream`, an incomplete character at the end is not an error.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: truncated });
    // A NUL is valid UTF-8, but marks the body as binary data.
    if (!text.includes("\0")) return { encoding: "utf-8", text, truncated };
  } catch {
    // The bytes are not UTF-8.
  }
  return { encoding: "base64", text: Buffer.from(bytes).toString("base64"), truncated };
}

/**
 * Returns the beginning of a receiver's response on one line, `limit` characters at most. Returns an empty string for HTML
 * or XML, because its beginning says nothing.
 */
export function excerptOf(text: string, limit: number): string {
  const line = text.replaceAll(/[\s\p{C}\uFFFD]+/gu, " ").trim();
  if (line.startsWith("<")) return "";
  return line.length > limit ? `${line.slice(0, limit - 1).toWellFormed()}…` : line;
}
