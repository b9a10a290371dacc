/** What is wrong with keys, or soon will be, and with their requests. */
import type { Problem, RequestCounts } from "@bikeshare/contract/console";

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
/** Days before a key expires from which a problem says so: long enough to ask for a new one and to deploy it. */
const EXPIRY_WARNING_DAYS = 14;
const URGENT_DAYS = 3;
/** Share of a limit from which a minute is near it: the next busy minute may go beyond. */
const NEAR_LIMIT = 0.8;

/** Who reads a problem: what each of them can do about it differs. */
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

/** The problems of keys that work now, the worst of each key first. */
export function keyProblems(
  keys: readonly KeyFacts[],
  hours: ReadonlyMap<string, KeyHour>,
  { now, reader }: { readonly now: number; readonly reader: Reader },
): Problem[] {
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

function whose({ partner_id, partner_name }: KeyFacts): Pick<Problem, "partner_id" | "partner_name"> {
  return { partner_id, partner_name };
}

function linkToKey({ id }: KeyFacts): Problem["link"] {
  return { page: "keys", query: { key: id } };
}

function compromised(key: KeyFacts): Problem[] {
  if (key.compromised_at === null) return [];
  return [
    {
      code: "key_compromised",
      severity: "danger",
      text: `${keyLabel(key)} was sent where others may have read it.`,
      action: "Rotate it, deploy the new key, and revoke the old one.",
      at: key.compromised_at.toISOString(),
      ...whose(key),
      link: linkToKey(key),
    },
  ];
}

function replaced(key: KeyFacts, now: number): Problem[] {
  const { revoked_at: endsAt, last_used_at: usedAt } = key;
  if (endsAt === null || usedAt === null || now - usedAt.getTime() > DAY_MS) return [];
  return [
    {
      code: "key_ending",
      severity: endsAt.getTime() - now < URGENT_DAYS * DAY_MS ? "danger" : "warning",
      text: `${keyLabel(key)} has been replaced and ends ${inDays(endsAt, now)}, but was still used in the last 24 hours.`,
      action: "Deploy the new key wherever the old one is used.",
      at: endsAt.toISOString(),
      ...whose(key),
      link: { page: "requests", query: { key_id: key.id } },
    },
  ];
}

function expiring(key: KeyFacts, now: number, reader: Reader): Problem[] {
  const { expires_at: expiresAt, revoked_at: endsAt } = key;
  // What replaces it has warnings of its own.
  if (expiresAt === null || endsAt !== null || expiresAt.getTime() - now > EXPIRY_WARNING_DAYS * DAY_MS) return [];
  return [
    {
      code: "key_expires",
      severity: expiresAt.getTime() - now < URGENT_DAYS * DAY_MS ? "danger" : "warning",
      text: `${keyLabel(key)} expires ${inDays(expiresAt, now)}.`,
      // A key made by rotation expires when the old one does.
      action: actions[reader].expiring,
      at: expiresAt.toISOString(),
      ...whose(key),
      link: linkToKey(key),
    },
  ];
}

const HOUR_MS = 3_600_000;

function limited(key: KeyFacts, hour: KeyHour | undefined, now: number, reader: Reader): Problem[] {
  if (hour === undefined) return [];
  const { rate_limited: refused, most_in_minute: most } = hour;
  const shared = { at: null, ...whose(key) };
  if (refused > 0) {
    const since = new Date(now - HOUR_MS).toISOString();
    return [
      {
        code: "key_rate_limited",
        severity: "danger",
        text: `${keyLabel(key)} came to its limit of ${key.rateLimit} requests a minute: ${counted(refused, "request was", "requests were")} refused in the last hour.`,
        action: actions[reader].limited,
        ...shared,
        link: { page: "requests", query: { key_id: key.id, error: "rate_limited", since } },
      },
    ];
  }
  if (most < key.rateLimit * NEAR_LIMIT) return [];
  return [
    {
      code: "key_near_limit",
      severity: "warning",
      text: `${keyLabel(key)} made ${most} requests in one minute of the last hour, of ${key.rateLimit} that it may.`,
      action: actions[reader].limited,
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

/** Share of the hour's requests that must have failed, and how many: below, a single mistyped id would be a problem. */
const FAILING_SHARE = 0.1;
const FAILING_MINIMUM = 20;

/** Many requests of the last hour that failed. Those above a limit are their key's problem. */
export function requestProblems({ requests, client_errors, server_errors }: RequestCounts, now: number): Problem[] {
  const failed = client_errors + server_errors;
  if (failed < FAILING_MINIMUM || failed < requests * FAILING_SHARE) return [];
  const isOurs = server_errors > client_errors;
  return [
    {
      code: "requests_failing",
      severity: "warning",
      text: `${failed.toLocaleString("en")} of ${counted(requests, "request", "requests")} in the last hour failed, most of them ${isOurs ? "on our side (5xx)" : "because of the request itself (4xx)"}.`,
      action: isOurs
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
