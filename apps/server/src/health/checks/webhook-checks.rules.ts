/** Checks of a partner's webhooks. */
import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import { isStranded, pauseDescriptions } from "../../webhooks/endpoints/endpoint-context.ts";
import { counted, type PartnerCheckResult, type Reader } from "./key-checks.rules.ts";

type PauseReason = keyof typeof pauseDescriptions;

/** The facts of an endpoint that the rules need. */
export interface EndpointFacts {
  readonly status: "active" | "probing" | "paused";
  readonly pause_reason: PauseReason | null;
  readonly paused_at: Date | null;
  readonly failing_since: Date | null;
  readonly pending: number;
  readonly held: number;
  /** Whether a replay is running, which may be about to send the held deliveries. */
  readonly is_replaying: boolean;
}

interface Whose extends Pick<PartnerCheckResult, "partner_id" | "partner_name"> {
  readonly reader: Reader;
}

const subjects: Readonly<Record<Reader, string>> = { partner: "Your webhook address", operator: "The webhook address" };

const resume = "Repair the receiver, then resume sending on the webhook page, and send or drop what is held.";
const haveRepaired =
  "Have the receiver repaired, then resume sending on the webhook page, and send or drop what is held.";
const pauseActions: Readonly<Record<Reader, Readonly<Record<PauseReason, string>>>> = {
  partner: {
    partner: "Resume sending on the webhook page when the receiver is ready.",
    operator: "The operator resumes it.",
    failing: resume,
    gone: resume,
    probe_failed: resume,
    suspended: "The operator ends the suspension.",
    removed: "Set an address on the webhook page.",
  },
  operator: {
    partner: "The partner resumes sending when its receiver is ready.",
    operator: "Resume sending on the webhook page, and send or drop what is held.",
    failing: haveRepaired,
    gone: haveRepaired,
    probe_failed: haveRepaired,
    suspended: "End the suspension on the partner's page.",
    removed: "Set an address on the webhook page.",
  },
};
/** Pauses that somebody has chosen. */
const CHOSEN_PAUSES: readonly PauseReason[] = ["partner", "operator", "suspended"];

/** Checks for deliveries that are held at an active endpoint: nobody sends them until somebody decides. */
export function checkHeld(endpoint: EndpointFacts, whose: Whose): PartnerCheckResult[] {
  if (!isStranded(endpoint)) return [];
  const { reader, ...of } = whose;
  return [
    {
      check: "held webhooks",
      status: "warning",
      detail: `${subjects[reader]} is not paused, but ${heldText(endpoint.held, "still held")}.`,
      fix: "Send or drop them on the webhook page. Held deliveries are not sent by themselves.",
      at: null,
      ...of,
      link: { page: "webhook", query: {} },
    },
  ];
}

/** Checks for an endpoint that is paused or failing. */
export function checkEndpoint(endpoint: EndpointFacts, { reader, ...whose }: Whose): PartnerCheckResult[] {
  const { status, pause_reason: reason, held } = endpoint;
  const link = { page: "webhook", query: {} } as const;
  if (status === "paused" && reason !== null) {
    const waiting = held === 0 ? "" : ` ${capitalised(heldText(held, "held"))}.`;
    return [
      {
        check: "webhook paused",
        status: CHOSEN_PAUSES.includes(reason) ? "warning" : "failure",
        detail: `${subjects[reader]} is ${pauseDescriptions[reason]}.${waiting}`,
        fix: pauseActions[reader][reason],
        at: endpoint.paused_at,
        ...whose,
        link,
      },
    ];
  }
  if (endpoint.failing_since === null) return [];
  return [
    {
      check: "webhook failing",
      status: "failure",
      detail: `${subjects[reader]} has answered no delivery with success lately.`,
      fix: "Open a failing delivery: it says what went wrong. Everything is tried again for days.",
      at: endpoint.failing_since,
      ...whose,
      link: { page: "deliveries", query: { status: "failing" } },
    },
  ];
}

function heldText(held: number, state: string): string {
  const orMore = held < MAX_COUNTED_DELIVERIES ? "" : "at least ";
  return `${orMore}${counted(held, "delivery is", "deliveries are")} ${state}`;
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The facts of the deliveries that the rules need. */
export interface DeliveryFacts {
  readonly given_up: number;
  readonly given_up_from: Date | null;
  readonly given_up_failure: string | null;
  readonly failing: number;
}

/** Checks for deliveries that were given up, or fail while the endpoint as a whole works. */
export function checkDeliveries(
  facts: DeliveryFacts,
  endpoint: EndpointFacts,
  whose: Omit<Whose, "reader">,
): PartnerCheckResult[] {
  const { given_up: givenUp, given_up_from: from, given_up_failure: failure, failing } = facts;
  const results: PartnerCheckResult[] = [];
  if (givenUp > 0 && from !== null) {
    const reason = failure === null ? "after many attempts" : `${mostly(givenUp)}because of ${failureText(failure)}`;
    results.push({
      check: "webhooks given up",
      status: "failure",
      detail: `${counted(givenUp, "delivery was", "deliveries were")} given up in the last 24 hours, ${reason}.`,
      fix: "See why, repair the receiver, and send them again.",
      at: null,
      ...whose,
      link: { page: "deliveries", query: { status: "failed", since: from.toISOString() } },
    });
  }
  if (failing > 0 && endpoint.failing_since === null) {
    results.push({
      check: "webhooks retried",
      status: "warning",
      detail: `${counted(failing, "delivery has failed and is", "deliveries have failed and are")} being tried again.`,
      fix: "Open one to see what the receiver answered.",
      at: null,
      ...whose,
      link: { page: "deliveries", query: { status: "failing" } },
    });
  }
  return results;
}

function mostly(count: number): string {
  return count === 1 ? "" : "mostly ";
}

const failures: Readonly<Record<string, string>> = {
  http_3xx: "redirects, which are not followed",
  http_4xx: "answers with 4xx codes",
  http_5xx: "answers with 5xx codes",
  url_refused: "an address that this service may not call",
  address_refused: "a name that leads into a private network",
  dns_timeout: "name servers that did not answer in time",
  connect: "connections that could not be made",
  connect_refused: "refused connections",
  connect_timeout: "connections that timed out",
  timeout: "timeouts",
  body_timeout: "answers that were not finished in time",
  reset: "connections that the receiver closed",
  stale_connection: "connections that the receiver closed",
  protocol: "answers that are not valid HTTP",
  headers_too_large: "answers with too large headers",
  too_many_informational: "interim answers without end",
  unknown: "attempts whose results are not known",
  set_aside: "processes that ended while sending",
  dns: "a host name that could not be resolved",
  tls: "a failing TLS handshake",
};

function failureText(failure: string): string {
  return failures[failure] ?? failure.replaceAll("_", " ");
}
