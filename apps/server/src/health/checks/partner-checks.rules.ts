import { MAX_COUNTED_DELIVERIES } from "@bikeshare/contract";
import type { RequestCounts } from "@bikeshare/contract/console";
import { isStranded, pauseDescriptions } from "../../webhooks/endpoints/endpoint-context.ts";
import { type CheckLink, type CheckName, type CheckResult, thresholds } from "./check.ts";

/* Checks of a partner's webhooks, API keys and requests. The remedies depend on the reader: the partner or the operator. */

/** Who reads a finding. The remedy depends on the reader. */
export type Reader = "partner" | "operator";

/** A finding that a partner has to fix. */
export interface PartnerCheckResult extends CheckResult {
  readonly check: CheckName;
  readonly status: "info" | "warning" | "failure";
  readonly fix: string;
  readonly link: CheckLink;
  /** Null: the reader is the partner itself. */
  readonly partner_id: string | null;
  readonly partner_name: string | null;
}

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

/** The owner of an endpoint, and the reader of the finding about it. */
interface Whose extends Pick<PartnerCheckResult, "partner_id" | "partner_name"> {
  readonly reader: Reader;
  /** The endpoint, if its partner has several; null: it is the partner's only one. */
  readonly endpoint: { readonly id: string; readonly name: string } | null;
}

/** What a finding calls the webhook, by its reader. */
const subjects: Readonly<Record<Reader, string>> = { partner: "Your webhook", operator: "The webhook" };

/** Names an endpoint at the beginning of a sentence. */
function subjectOf({ reader, endpoint }: Pick<Whose, "reader" | "endpoint">): string {
  return endpoint === null ? `${subjects[reader]} address` : `${subjects[reader]} “${endpoint.name}”`;
}

function linkTo(
  page: "webhook" | "deliveries",
  { endpoint }: Pick<Whose, "endpoint">,
  query: Readonly<Record<string, string>> = {},
): CheckLink {
  return { page, query: { ...(endpoint && { endpoint: endpoint.id }), ...query } };
}

const repairAndResume = "Repair the receiver, then resume sending on the webhook page, and send or drop what is held.";
const haveRepairedAndResume =
  "Have the receiver repaired, then resume sending on the webhook page, and send or drop what is held.";
/** The remedies for a paused endpoint, by the reader and the reason of the pause. */
const pauseActions: Readonly<Record<Reader, Readonly<Record<PauseReason, string>>>> = {
  partner: {
    partner: "Resume sending on the webhook page when the receiver is ready.",
    operator: "The operator resumes it.",
    failing: repairAndResume,
    gone: repairAndResume,
    probe_failed: repairAndResume,
    suspended: "The operator ends the suspension.",
    removed: "Set an address on the webhook page.",
  },
  operator: {
    partner: "The partner resumes sending when its receiver is ready.",
    operator: "Resume sending on the webhook page, and send or drop what is held.",
    failing: haveRepairedAndResume,
    gone: haveRepairedAndResume,
    probe_failed: haveRepairedAndResume,
    suspended: "End the suspension on the partner's page.",
    removed: "Set an address on the webhook page.",
  },
};
/** Pauses that somebody has chosen. */
const CHOSEN_PAUSES: readonly PauseReason[] = ["partner", "operator", "suspended"];

/** Checks for deliveries that are held at an endpoint that is not paused: nobody sends them until somebody decides. */
export function checkHeld(endpoint: EndpointFacts, whose: Whose): PartnerCheckResult[] {
  if (!isStranded(endpoint)) return [];
  return [
    {
      check: "held webhooks",
      status: "warning",
      detail: `${subjectOf(whose)} is not paused, but ${heldText(endpoint.held, "still held")}.`,
      fix: "Send or drop them on the webhook page. Held deliveries are not sent by themselves.",
      at: null,
      ...ownerOf(whose),
      link: linkTo("webhook", whose),
    },
  ];
}

/** Checks for an endpoint that is paused or failing. */
export function checkEndpoint(endpoint: EndpointFacts, whose: Whose): PartnerCheckResult[] {
  const { status, pause_reason: reason, held } = endpoint;
  if (status === "paused" && reason !== null) {
    const waiting = held === 0 ? "" : ` ${capitalised(heldText(held, "held"))}.`;
    return [
      {
        check: "webhook paused",
        status: CHOSEN_PAUSES.includes(reason) ? "warning" : "failure",
        detail: `${subjectOf(whose)} is ${pauseDescriptions[reason]}.${waiting}`,
        fix: pauseActions[whose.reader][reason],
        at: endpoint.paused_at,
        ...ownerOf(whose),
        link: linkTo("webhook", whose),
      },
    ];
  }
  if (endpoint.failing_since === null) return [];
  return [
    {
      check: "webhook failing",
      status: "failure",
      detail: `${subjectOf(whose)} has answered no delivery with success lately.`,
      fix: "Open a failing delivery: it says what went wrong. Everything is tried again for days.",
      at: endpoint.failing_since,
      ...ownerOf(whose),
      link: linkTo("deliveries", whose, { status: "failing" }),
    },
  ];
}

function ownerOf({ partner_id, partner_name }: Whose): Pick<Whose, "partner_id" | "partner_name"> {
  return { partner_id, partner_name };
}

function heldText(held: number, state: string): string {
  const orMore = held < MAX_COUNTED_DELIVERIES ? "" : "at least ";
  return `${orMore}${counted(held, "delivery is", "deliveries are")} ${state}`;
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The facts of an endpoint's deliveries that the rules need. */
export interface DeliveryFacts {
  /** Deliveries that were given up in the last 24 hours. */
  readonly given_up: number;
  /** When the first of these was created, and their most frequent failure. */
  readonly given_up_from: Date | null;
  readonly given_up_failure: string | null;
  /** Deliveries that have failed and will be tried again. */
  readonly failing: number;
}

/** Checks for deliveries that were given up, or fail while the endpoint as a whole works. */
export function checkDeliveries(facts: DeliveryFacts, endpoint: EndpointFacts, whose: Whose): PartnerCheckResult[] {
  const { given_up: givenUp, given_up_from: from, given_up_failure: failure, failing } = facts;
  const results: PartnerCheckResult[] = [];
  if (givenUp > 0 && from !== null) {
    const reason = failure === null ? "after many attempts" : `${mostly(givenUp)}because of ${failureText(failure)}`;
    results.push({
      check: "webhooks given up",
      status: "failure",
      detail: `${counted(givenUp, "delivery", "deliveries")}${toWhich(whose)} ${givenUp === 1 ? "was" : "were"} given up in the last 24 hours, ${reason}.`,
      fix: "See why, repair the receiver, and send them again.",
      at: null,
      ...ownerOf(whose),
      link: linkTo("deliveries", whose, { status: "failed", since: from.toISOString() }),
    });
  }
  if (failing > 0 && endpoint.failing_since === null) {
    results.push({
      check: "webhooks retried",
      status: "warning",
      detail: `${counted(failing, "delivery", "deliveries")}${toWhich(whose)} ${failing === 1 ? "has failed and is" : "have failed and are"} being tried again.`,
      fix: "Open one to see what the receiver answered.",
      at: null,
      ...ownerOf(whose),
      link: linkTo("deliveries", whose, { status: "failing" }),
    });
  }
  return results;
}

function toWhich({ endpoint }: Pick<Whose, "endpoint">): string {
  return endpoint === null ? "" : ` to “${endpoint.name}”`;
}

/** Several deliveries may have failed for other reasons than the most frequent one; a single one has not. */
function mostly(count: number): string {
  return count === 1 ? "" : "mostly ";
}

/** Failures in words, by their codes in the log. */
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

/** The facts of a key that the rules need. */
export interface KeyFacts {
  readonly id: string;
  readonly name: string | null;
  readonly last4: string;
  readonly partner_id: string | null;
  readonly partner_name: string | null;
  readonly expires_at: Date | null;
  /** In the future for a rotated key, which works until then. */
  readonly revoked_at: Date | null;
  /** When the key was first sent in a URL or over plain HTTP. */
  readonly compromised_at: Date | null;
  readonly last_used_at: Date | null;
  /** When its partner was suspended or removed. */
  readonly partner_suspended_at: Date | null;
  /** Made by the partner's own people, who gave it its expiry. */
  readonly made_by_partner: boolean;
  readonly rateLimit: number;
  readonly status: "active" | "expired" | "revoked" | "suspended";
}

/** A key's requests in the last hour. */
export interface KeyHour {
  readonly requests: number;
  readonly rate_limited: number;
  readonly most_in_minute: number;
}

const DAY_MS = 86_400_000;

/** Remedies for a key that expires, and for a key at its limit. */
const actions = {
  partner: {
    expiring: "Create a key with a later expiry, or ask the operator for one. Deploy it before this one expires.",
    limited: "Spread the requests, wait as Retry-After says, or ask the operator to raise the limit.",
  },
  operator: {
    expiring: "Issue a key with a later expiry, and have it deployed before this one expires.",
    limited: "Raise the limit of the key, or have its owner spread the requests and wait as Retry-After says.",
  },
} as const satisfies Record<Reader, unknown>;

/** Checks the active keys. The findings of a key follow each other. */
export function checkKeys(
  keys: readonly KeyFacts[],
  hours: ReadonlyMap<string, KeyHour>,
  { now, reader }: { readonly now: number; readonly reader: Reader },
): PartnerCheckResult[] {
  return keys
    .filter(({ status }) => status === "active")
    .flatMap((key) => [
      ...compromised(key),
      ...replaced(key, now),
      ...expiring(key, now, reader),
      ...limited(key, hours.get(key.id), now, reader),
    ]);
}

/** Returns the name of a key for a sentence. */
export function keyLabel({ name, last4 }: Pick<KeyFacts, "name" | "last4">): string {
  return name === null ? `Key …${last4}` : `Key “${name}” (…${last4})`;
}

function partnerOf({ partner_id, partner_name }: KeyFacts): Pick<PartnerCheckResult, "partner_id" | "partner_name"> {
  return { partner_id, partner_name };
}

function linkToKey({ id }: KeyFacts): CheckLink {
  return { page: "keys", query: { key: id } };
}

function compromised(key: KeyFacts): PartnerCheckResult[] {
  if (key.compromised_at === null) return [];
  return [
    {
      check: "compromised keys",
      status: "failure",
      detail: `${keyLabel(key)} was sent where others may have read it.`,
      fix: "Rotate it, deploy the new key, and revoke the old one.",
      at: key.compromised_at,
      ...partnerOf(key),
      link: linkToKey(key),
    },
  ];
}

/** Finds a rotated key that is still used. */
function replaced(key: KeyFacts, now: number): PartnerCheckResult[] {
  const { revoked_at: endsAt, last_used_at: usedAt } = key;
  if (endsAt === null || usedAt === null || now - usedAt.getTime() > DAY_MS) return [];
  return [
    {
      check: "replaced keys",
      status: endsAt.getTime() - now < thresholds.keyExpiryMs.failure ? "failure" : "warning",
      detail: `${keyLabel(key)} has been replaced and ends ${inDays(endsAt, now)}, but was still used in the last 24 hours.`,
      fix: "Deploy the new key wherever the old one is used.",
      at: endsAt,
      ...partnerOf(key),
      link: { page: "requests", query: { key_id: key.id } },
    },
  ];
}

function expiring(key: KeyFacts, now: number, reader: Reader): PartnerCheckResult[] {
  const { expires_at: expiresAt, revoked_at: endsAt } = key;
  // Warns only the partner of a key that its own people made, because the operator cannot extend it.
  if (reader === "operator" && key.made_by_partner) return [];
  // A rotated key gets no warning, because the key that replaces it has its own.
  if (expiresAt === null || endsAt !== null || expiresAt.getTime() - now > thresholds.keyExpiryMs.warning) return [];
  return [
    {
      check: "expiring keys",
      status: expiresAt.getTime() - now < thresholds.keyExpiryMs.failure ? "failure" : "warning",
      detail: `${keyLabel(key)} expires ${inDays(expiresAt, now)}.`,
      // Suggests a new key, because a key made by rotation expires when the old one does.
      fix: actions[reader].expiring,
      at: expiresAt,
      ...partnerOf(key),
      link: linkToKey(key),
    },
  ];
}

const HOUR_MS = 3_600_000;

/** Finds a key whose requests were refused by its rate limit, or came close to it. */
function limited(key: KeyFacts, hour: KeyHour | undefined, now: number, reader: Reader): PartnerCheckResult[] {
  if (hour === undefined) return [];
  const { rate_limited: refused, most_in_minute: most } = hour;
  const shared = { at: null, ...partnerOf(key) };
  if (refused > 0) {
    const since = new Date(now - HOUR_MS).toISOString();
    return [
      {
        check: "rate-limited keys",
        status: "failure",
        detail: `${keyLabel(key)} came to its limit of ${key.rateLimit} requests a minute: ${counted(refused, "request was", "requests were")} refused in the last hour.`,
        fix: actions[reader].limited,
        ...shared,
        link: { page: "requests", query: { key_id: key.id, error: "rate_limited", since } },
      },
    ];
  }
  if (most < key.rateLimit * thresholds.nearLimit) return [];
  return [
    {
      check: "rate-limited keys",
      status: "warning",
      detail: `${keyLabel(key)} made ${most} requests in one minute of the last hour, of ${key.rateLimit} that it may.`,
      fix: actions[reader].limited,
      ...shared,
      link: linkToKey(key),
    },
  ];
}

/** `1 request was`, `12 requests were`. */
export function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function inDays(at: Date, now: number): string {
  const days = Math.floor((at.getTime() - now) / DAY_MS);
  return days < 1 ? "within a day" : `in ${counted(days, "day", "days")}`;
}

/** Checks for many failed requests in the last hour. The check "rate-limited keys" reports requests above a limit. */
export function checkRequests(
  { requests, client_errors, server_errors }: RequestCounts,
  now: number,
): PartnerCheckResult[] {
  const failed = client_errors + server_errors;
  if (failed < thresholds.failingRequests.least || failed < requests * thresholds.failingRequests.share) return [];
  const isOurs = server_errors > client_errors;
  return [
    {
      check: "failing requests",
      status: "warning",
      detail: `${failed.toLocaleString("en")} of ${counted(requests, "request", "requests")} in the last hour failed, most of them ${isOurs ? "on our side (5xx)" : "because of the request itself (4xx)"}.`,
      fix: isOurs
        ? "Tell the operator the Request-Id of one of them."
        : "Open one of them: it says what its error code means and what to do.",
      at: null,
      partner_id: null,
      partner_name: null,
      link: {
        page: "requests",
        query: { status: isOurs ? "5xx" : "4xx", since: new Date(now - HOUR_MS).toISOString() },
      },
    },
  ];
}
