import type { Scope } from "@bikeshare/contract/pure";
import type { api } from "../../api/api.ts";
import type { Choice } from "../../components/field.tsx";

/** The values of the operator's form for a new key (issue-dialog.tsx). */
export interface NewKey {
  /** The id of the partner, or `OPERATOR`; empty: not chosen yet. */
  readonly owner: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Days until the key expires; empty: never. */
  readonly days: string;
  /** Requests in any 60 s; empty: the default. */
  readonly rate: string;
}

/** The value of `owner` that stands for the operator. */
export const OPERATOR = "operator";

/** Returns the first problem of the form, as a message; undefined if there is none. */
export function problemOf({ owner, scopes }: NewKey): string | undefined {
  if (owner === "") return "Choose who the key is for.";
  if (owner !== OPERATOR && scopes.length === 0) return "Choose at least one scope.";
  return undefined;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const expiries = [30, 90, 365];

/** Returns the choices of when a key of the partner's admins expires (create-dialog.tsx), up to `days` from now. */
export function expiriesWithin(days: number): Choice[] {
  const choices = [...expiries.filter((each) => each < days), days];
  return choices.map((each) => ({ value: String(each), label: each === 1 ? "In a day" : `In ${each} days` }));
}

/**
 * Returns the instant `days` from now, less a minute: the server rejects an expiry beyond the partner's limit, and this
 * browser's clock may be ahead of the server's.
 */
export function instantAfter(days: number): string {
  return new Date(new Date().getTime() + days * DAY_MS - MINUTE_MS).toISOString();
}

/** Returns the request with which the operator makes the key. No limit holds for its expiry. An operator key takes no scopes. */
export function keyRequest(wanted: NewKey, now: number): Parameters<typeof api.systemKeys.issue>[0]["body"] {
  const { owner, name, scopes, days, rate } = wanted;
  const isOperators = owner === OPERATOR;
  return {
    partner_id: isOperators ? null : owner,
    scopes: isOperators ? [] : [...scopes],
    name: name.trim() === "" ? null : name.trim(),
    expires_at: days === "" ? null : new Date(now + Number(days) * DAY_MS).toISOString(),
    rate_limit: rate === "" ? null : Number(rate),
  };
}
