/** Finds out whose data a page shows, and the addresses of related pages. */
import { type Access, useOperatorAccess, usePartnerAccess, useSignedIn } from "../session/session.ts";

/** Whose page is shown: a partner's, or the operator's if `partnerId` is undefined. It is no scope of a key. */
export interface PageScope {
  readonly systemId: string;
  readonly partnerId: string | undefined;
  /** Whether the reader may change the shown data. */
  readonly canChange: boolean;
  /** Whether this system is the default for addresses that name none. */
  readonly isFirstSystem: boolean;
}

/** Returns the scope of a partner's page; undefined: the reader may not see it. */
export function usePartnerScope(): PageScope | undefined {
  const { memberships } = useSignedIn();
  const access = usePartnerAccess();
  return access && scopeOf(access, access.partnerId, memberships);
}

/** Returns the scope of an operator's page; undefined: the reader may not see it. */
export function useOperatorScope(): PageScope | undefined {
  const { memberships } = useSignedIn();
  const access = useOperatorAccess();
  return access && scopeOf(access, undefined, memberships);
}

function scopeOf(
  { systemId, canChange, membership }: Access,
  partnerId: string | undefined,
  memberships: readonly Access["membership"][],
): PageScope {
  // An address without a system means the first membership for this partner, or for the operator (`partner_id` is null).
  const first = memberships.find(({ partner_id }) => partner_id === membership.partner_id);
  return { systemId, partnerId, canChange, isFirstSystem: first?.system_id === systemId };
}

/**
 * Returns the address of a page with filters.
 * @param page the last part of the page's path: `keys`, `requests`, …
 */
export function addressIn(
  { systemId, partnerId, isFirstSystem }: Pick<PageScope, "systemId" | "partnerId" | "isFirstSystem">,
  page: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const path = partnerId === undefined ? `/operator/${page}` : `/partners/${encodeURIComponent(partnerId)}/${page}`;
  const search = new URLSearchParams({ ...(!isFirstSystem && { system: systemId }), ...query }).toString();
  return search === "" ? path : `${path}?${search}`;
}

/**
 * Returns the parameters of an address with one changed, or removed if the value is empty or undefined. The function of the
 * same name in page.ts adds a parameter to a whole address.
 */
export function withParameter(search: URLSearchParams, name: string, value: string | undefined): URLSearchParams {
  const next = new URLSearchParams(search);
  if (value === undefined || value === "") next.delete(name);
  else next.set(name, value);
  return next;
}
