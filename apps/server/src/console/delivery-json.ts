import type {
  BulkResend as BulkResendJson,
  Delivery,
  DeliveryAttempt,
  DeliveryDetail as DeliveryDetailJson,
} from "@bikeshare/contract/console";
import type { BulkResend } from "../webhooks/log/bulk-resend.ts";
import type { DeliveryDetail, DeliveryView } from "../webhooks/log/deliveries.ts";
import type { Exchange, HeaderPair } from "../webhooks/log/delivery-view.ts";
import { adviceOn } from "../webhooks/log/failure-advice.rules.ts";
import { instantOf } from "./dates.ts";

/** A delivery as the pages get it. */
export function deliveryJson(view: DeliveryView): Delivery {
  return {
    id: view.id,
    event: view.event,
    event_id: view.event_id,
    resource_id: view.resource_id,
    created_at: view.created_at.toISOString(),
    status: view.status,
    is_failing: view.status === "pending" && view.latest_failure !== null,
    attempts: view.attempts,
    code: view.latest_code,
    failure: view.latest_failure,
    next_attempt_at: instantOf(view.next_attempt_at),
    finished_at: instantOf(view.finished_at),
    explanation: view.explanation,
  };
}

/** A delivery with its attempts as the pages get it. */
export function deliveryDetailJson(
  detail: DeliveryDetail,
  beside: { readonly older: string | null; readonly newer: string | null },
): DeliveryDetailJson {
  return {
    ...deliveryJson(detail),
    exchanges: detail.exchanges.map(attemptJson),
    next_failing_id: beside.older,
    previous_failing_id: beside.newer,
  };
}

export function resendJson(resend: BulkResend): BulkResendJson {
  const { id, status, total, queued, skipped, created_at, finished_at } = resend;
  return {
    id,
    status,
    total,
    queued,
    skipped,
    created_at: created_at.toISOString(),
    finished_at: instantOf(finished_at),
  };
}

function attemptJson(exchange: Exchange): DeliveryAttempt {
  const { number, outcome, summary, failure, detail, url, remote_address, request, answer, timings } = exchange;
  return {
    ...{ number, outcome, summary, failure, detail, url, remote_address, timings },
    started_at: exchange.started_at.toISOString(),
    advice: adviceOn({ outcome, failure, status: answer?.status ?? null }),
    request: request && {
      headers: withoutCredentials(request.headers),
      body: { encoding: "utf-8", text: request.body, truncated: false },
    },
    response: answer && {
      status: answer.status,
      headers: withoutCredentials(answer.headers),
      body: answer.body,
      truncation_reason: answer.truncation_reason,
    },
    next_attempt_at: instantOf(exchange.next_attempt_at),
    next_attempt_reason: exchange.next_attempt_reason,
  };
}

const CREDENTIALS = /^(cookie|set-cookie|authorization|proxy-authorization)$/i;

/** Headers with what would let whoever reads them act as somebody else hidden. Their names stay. */
export function withoutCredentials(headers: readonly HeaderPair[]): [string, string][] {
  return headers.map(([name, value]) => [name, CREDENTIALS.test(name) ? "(hidden)" : value]);
}
