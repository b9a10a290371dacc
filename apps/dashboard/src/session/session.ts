/** Who is signed in, and what they may see. */
import type { ConsoleSession, Membership } from "@bikeshare/contract/console";
import { useQuery } from "@tanstack/preact-query";
import { useParams, useSearch } from "wouter-preact";
import { api, keepCsrfToken, queries, SESSION_KEY } from "../api/api.ts";
import { ApiError } from "../api/errors.ts";

/** The session; null where nobody is signed in; undefined until that is known. */
export function useSession() {
  return useQuery({ queryKey: SESSION_KEY, queryFn: readSession, staleTime: Infinity });
}

/** Takes over the session that an answer has begun or confirmed. */
export function adoptSession(session: ConsoleSession): void {
  keepCsrfToken(session.csrf_token);
  queries.setQueryData(SESSION_KEY, session);
}

async function readSession(): Promise<ConsoleSession | null> {
  try {
    const session = await api.session.get();
    keepCsrfToken(session.csrf_token);
    return session;
  } catch (error) {
    if (error instanceof ApiError && error.code === "unauthorized") return null;
    throw error;
  }
}

/** The session, on pages that are shown to people who have signed in. */
export function useSignedIn(): ConsoleSession {
  const { data } = useSession();
  if (data === undefined || data === null) throw new Error("This page needs a session");
  return data;
}

/** Whose data a page shows, and as what the reader sees it. */
export interface Access {
  readonly systemId: string;
  readonly systemName: string;
  readonly membership: Membership;
  /** Whether the reader may change what the page shows. */
  readonly canChange: boolean;
}

/** The membership under which an operator's page is read: the one of `?system=`, or the first. */
export function useOperatorAccess(): Access | undefined {
  const { memberships } = useSignedIn();
  const systemId = new URLSearchParams(useSearch()).get("system");
  const membership = operatorMembership(memberships, systemId);
  return membership && accessBy(membership, membership.role === "admin");
}

/** The membership under which a partner's page is read: the partner's own, or else the operator's, who may only look. */
export function usePartnerAccess(): (Access & { readonly partnerId: string }) | undefined {
  const { memberships } = useSignedIn();
  const { partner_id: partnerId } = useParams<{ partner_id: string }>();
  const systemId = new URLSearchParams(useSearch()).get("system");
  const own = memberships.find(
    (one) => one.partner_id === partnerId && (systemId === null || one.system_id === systemId),
  );
  const membership = own ?? operatorMembership(memberships, systemId);
  return membership && { ...accessBy(membership, own?.role === "admin"), partnerId };
}

function operatorMembership(memberships: readonly Membership[], systemId: string | null): Membership | undefined {
  return memberships.find((one) => one.partner_id === null && (systemId === null || one.system_id === systemId));
}

function accessBy(membership: Membership, canChange: boolean): Access {
  return { systemId: membership.system_id, systemName: membership.system_name, membership, canChange };
}
