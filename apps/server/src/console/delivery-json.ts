import type { Delivery, DeliveryAttempt, DeliveryDetail as DeliveryDetailJson } from "@bikeshare/contract/console";
import type { DeliveryDetail, DeliveryView } from "../webhooks/log/deliveries.ts";
import type { Exchange, HeaderPair } from "../webhooks/log/delivery-view.ts";
import { adviceOn } from "../webhooks/log/failure-advice.rules.ts";
import type { Served } from "./answers.ts";

/** Returns a delivery as the pages get it. */
export function deliveryJson(view: DeliveryView): Served<Delivery> {
  const { status, latest_code: code, latest_failure: failure } = view;
  return { ...view, code, failure, is_failing: status === "pending" && failure !== null };
}

/**
 * Returns a delivery with its attempts as the pages get it.
 * @param beside the ids of the nearest failing deliveries. Lists show the newest first, so the older one is the next
 */
export function deliveryDetailJson(
  detail: DeliveryDetail,
  beside: { readonly older: string | null; readonly newer: string | null },
): Served<DeliveryDetailJson> {
  return {
    ...deliveryJson(detail),
    exchanges: detail.exchanges.map(attemptJson),
    next_failing_id: beside.older,
    previous_failing_id: beside.newer,
  };
}

function attemptJson({ request, answer, ...exchange }: Exchange): Served<DeliveryAttempt> {
  const { outcome, failure } = exchange;
  return {
    ...exchange,
    advice: adviceOn({ outcome, failure, status: answer?.status ?? null }),
    request: request && {
      headers: withoutCredentials(request.headers),
      body: { encoding: "utf-8", text: request.body, truncated: false },
    },
    response: answer && { ...answer, headers: withoutCredentials(answer.headers) },
  };
}

const CREDENTIALS = /^(cookie|set-cookie|authorization|proxy-authorization)$/i;

/** Returns headers with hidden credentials, so that their reader cannot act as somebody else. Their names stay. */
export function withoutCredentials(headers: readonly HeaderPair[]): HeaderPair[] {
  return headers.map(([name, value]) => [name, CREDENTIALS.test(name) ? "(hidden)" : value]);
}
