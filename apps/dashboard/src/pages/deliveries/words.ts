/** Texts for the states of deliveries and attempts. */
import type { Delivery } from "@bikeshare/contract/console";
import { deliveryNames } from "@bikeshare/contract/pure";
import type { Choice } from "../../components/field.tsx";
import { lookUp } from "../../components/look-up.ts";
import type { Tone } from "../../components/status.tsx";

/** The state of a delivery for readers. */
export interface StateWords {
  readonly tone: Tone;
  readonly word: string;
}

/**
 * Returns a delivery's state in one or two words, and its tone. A held delivery waits, because its webhook is paused or
 * removed, until somebody sends or drops it. A skipped one was beyond the webhook's hourly limit.
 */
export function stateOf({
  status,
  is_failing: isFailing,
  attempts,
  failure,
}: Pick<Delivery, "status" | "is_failing" | "attempts" | "failure">): StateWords {
  switch (status) {
    case "succeeded":
      return { tone: "success", word: "arrived" };
    case "failed":
      if (failure === "dropped") return { tone: "neutral", word: "dropped" };
      if (failure === "skipped") return { tone: "neutral", word: "skipped" };
      return { tone: "danger", word: "given up" };
    case "held":
      return { tone: "warning", word: "held" };
    case "pending":
      if (isFailing) return { tone: "warning", word: "failing" };
      return { tone: "progress", word: attempts === 0 ? "waiting" : "resending" };
  }
}

/** Returns in a few words why the latest attempt failed, or why there is none. */
export function failureWords(failure: string): string {
  return lookUp(failures, failure) ?? failure.replaceAll("_", " ");
}

const failures: Readonly<Record<string, string>> = {
  http_3xx: "redirect (3xx)",
  http_4xx: "refused (4xx)",
  http_5xx: "server error (5xx)",
  dns: "name not found",
  dns_timeout: "name servers silent",
  connect: "no connection",
  connect_refused: "connection refused",
  connect_timeout: "connection timed out",
  tls: "TLS",
  timeout: "no answer in time",
  body_timeout: "answer not finished in time",
  reset: "connection reset",
  stale_connection: "stale connection",
  protocol: "not HTTP",
  headers_too_large: "headers too large",
  too_many_informational: "endless 1xx",
  url_refused: "address refused",
  address_refused: "private address",
  unknown: "result unknown",
  set_aside: "ended its processes",
  dropped: "dropped on request",
  skipped: "over the hourly limit",
};

/** The statuses by which the list can be filtered. */
export const statusChoices: readonly Choice[] = [
  { value: "unsuccessful", label: "Failing or given up" },
  { value: "failing", label: "Failing, will be retried" },
  { value: "failed", label: "Given up, dropped or skipped" },
  { value: "held", label: "Held" },
  { value: "pending", label: "Waiting" },
  { value: "succeeded", label: "Arrived" },
];

/** The reasons of failures by which the list can be filtered. */
export const failureChoices: readonly Choice[] = Object.entries(failures).map(([value, label]) => ({ value, label }));

/** The types of events by which the list can be filtered. */
export const eventChoices: readonly Choice[] = deliveryNames.map((event) => ({ value: event, label: event }));

/** Returns `1 delivery` or `12 deliveries`. */
export function countDeliveries(count: number): string {
  return count === 1 ? "1 delivery" : `${count.toLocaleString("en")} deliveries`;
}
