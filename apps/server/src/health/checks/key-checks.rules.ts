/** What is wrong with keys, or soon will be, and with their requests. */
import type { RequestCounts } from "@bikeshare/contract/console";
import { type CheckLink, type CheckName, type CheckResult, thresholds } from "./check.ts";

/** What a check has found that a partner has to mend. */
export interface PartnerCheckResult extends CheckResult {
  readonly check: CheckName;
  readonly status: "info" | "warning" | "failure";
  readonly fix: string;
  readonly link: CheckLink;
  /** Null: the partner reads it itself. */
  readonly partner_id: string | null;
  readonly partner_name: string | null;
}

/** What the rules need to know of a key. */
export interface KeyFacts {
  readonly id: string;
  readonly name: string | null;
  readonly last4: string;
  readonly partner_id: string | null;
  readonly partner_name: string | null;
  readonly expires_at: Date | null;
  /** A rotated key ends ahead: it works until then. */
  readonly revoked_at: Date | null;
  readonly compromised_at: Date | null;
  readonly last_used_at: Date | null;
  /** Made by the partner's own people, who gave it its expiry. */
  readonly made_by_partner: boolean;
  readonly rateLimit: number;
  readonly status: "active" | "expired" | "revoked" | "suspended";
}

/** What a key did in the last hour. */
export interface KeyHour {
  readonly requests: number;
  readonly rate_limited: number;
  readonly most_in_minute: number;
}

const DAY_MS = 86_400_000;

/** Who reads what was found: what each of them can do about it differs. */
export type Reader = "partner" | "operator";

/** What is to be done about a key that expires, and about one at its limit. */
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

/** Checks the keys that work now, the worst of each key first. */
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

/** What a key is called in a sentence. */
export function keyLabel({ name, last4 }: Pick<KeyFacts, "name" | "last4">): string {
  return name === null ? `Key …${last4}` : `Key “${name}” (…${last4})`;
}

function whose({ partner_id, partner_name }: KeyFacts): Pick<PartnerCheckResult, "partner_id" | "partner_name"> {
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
      ...whose(key),
      link: linkToKey(key),
    },
  ];
}

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
      ...whose(key),
      link: { page: "requests", query: { key_id: key.id } },
    },
  ];
}

function expiring(key: KeyFacts, now: number, reader: Reader): PartnerCheckResult[] {
  const { expires_at: expiresAt, revoked_at: endsAt } = key;
  // The operator neither chose the expiry of a partner's own key nor can prolong it: its makers are warned.
  if (reader === "operator" && key.made_by_partner) return [];
  // What replaces it has warnings of its own.
  if (expiresAt === null || endsAt !== null || expiresAt.getTime() - now > thresholds.keyExpiryMs.warning) return [];
  return [
    {
      check: "expiring keys",
      status: expiresAt.getTime() - now < thresholds.keyExpiryMs.failure ? "failure" : "warning",
      detail: `${keyLabel(key)} expires ${inDays(expiresAt, now)}.`,
      // A key made by rotation expires when the old one does.
      fix: actions[reader].expiring,
      at: expiresAt,
      ...whose(key),
      link: linkToKey(key),
    },
  ];
}

const HOUR_MS = 3_600_000;

function limited(key: KeyFacts, hour: KeyHour | undefined, now: number, reader: Reader): PartnerCheckResult[] {
  if (hour === undefined) return [];
  const { rate_limited: refused, most_in_minute: most } = hour;
  const shared = { at: null, ...whose(key) };
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

/** Many requests of the last hour that failed. Those above a limit are rate-limited keys. */
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
