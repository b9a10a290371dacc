import type { ClaimedRow, OrphanRow } from "../queue/due-queries.ts";
import type { SettledRow } from "../queue/settle-queries.ts";
import { type AfterAttempt, afterAttempt } from "../rules/retry-policy.ts";
import type { AttemptResult } from "../sender/sender.ts";
import type { KeptAnswer } from "./log-meter.ts";
import type { Message } from "./message.ts";

/** An attempt that was made. Instants in milliseconds since 1970. */
export interface MadeAttempt {
  readonly row: ClaimedRow;
  readonly url: string;
  readonly message: Message;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly result: AttemptResult;
  /** What the log keeps of the answer. */
  readonly kept: KeptAnswer;
  /** From 0 to 1, drawn for this attempt alone. */
  readonly chance: number;
}

/** What is written of an attempt that was made. */
export function settledAttempt(made: MadeAttempt): SettledRow {
  const { row, url, message, startedAt, endedAt, result, kept, chance } = made;
  const tries = row.tries + 1;
  const { outcome, failure, status, retryAfterMs, timings } = result;
  const next = afterAttempt({ tries, outcome, failure, status, retryAfterMs, endedAt, chance });
  return {
    ...identityOf(row),
    ...nextOf(next),
    tries,
    started_at: new Date(startedAt),
    outcome,
    failure,
    detail: result.detail,
    url,
    request_headers: JSON.stringify(result.sentHeaders),
    request_body: message.body,
    remote_address: result.remoteAddress,
    status,
    response_headers: status === null ? null : JSON.stringify(kept.headers),
    response_body: status === null ? null : kept.body,
    response_cut: result.answerCut || kept.cutFor !== null,
    response_cut_for: status === null ? null : kept.cutFor,
    dns_ms: timings.dns,
    connect_ms: timings.connect,
    tls_ms: timings.tls,
    first_byte_ms: timings.firstByte,
    total_ms: timings.total,
  };
}

/** What is written of an attempt whose process ended before it could say how it went. */
export function unknownAttempt(row: OrphanRow, url: string, now: number): SettledRow {
  const tries = row.tries + 1;
  const end = { outcome: "unknown", failure: null, status: null, retryAfterMs: null } as const;
  return {
    ...identityOf(row),
    ...nextOf(afterAttempt({ ...end, tries, endedAt: now, chance: 0 })),
    tries,
    started_at: row.claimed_at,
    outcome: "unknown",
    failure: null,
    detail: "The process that sent it ended before it could write the result down. It may have arrived.",
    url,
    request_headers: null,
    request_body: null,
    remote_address: null,
    status: null,
    response_headers: null,
    response_body: null,
    response_cut: false,
    response_cut_for: null,
    dns_ms: null,
    connect_ms: null,
    tls_ms: null,
    first_byte_ms: null,
    total_ms: null,
  };
}

type Identity = Pick<
  SettledRow,
  "delivery_id" | "claim" | "created_on" | "endpoint_id" | "replay" | "due_at" | "number"
>;

function identityOf(row: ClaimedRow | OrphanRow): Identity {
  return {
    delivery_id: row.delivery_id,
    claim: row.claim,
    created_on: row.created_on,
    endpoint_id: row.endpoint_id,
    replay: row.replay,
    due_at: row.due_at,
    number: row.attempts + 1,
  };
}

function nextOf(next: AfterAttempt): Pick<SettledRow, "state" | "next_at" | "next_why"> {
  return next.state === "pending"
    ? { state: next.state, next_at: new Date(next.nextAt), next_why: next.why }
    : { state: next.state, next_at: null, next_why: null };
}
