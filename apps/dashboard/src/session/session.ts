/** Who is signed in, and what they may see. */
import type { ConsoleSession, Membership } from "@bikeshare/contract/console";
import { useLocation, useParams, useSearch } from "wouter-preact";
import { api, keepCsrfToken, queries, SESSION_KEY } from "../api/api.ts";
import { ApiError } from "../api/errors.ts";
import { useQuery } from "../api/queries.ts";
import { takeLinkToken } from "../embedding.ts";

/**
 * Reads the session when the pages are opened, and again when all queries are invalidated, for example after a lost
 * connection. `adoptSession`, the sign-out and `endSession` change what the cache has.
 */
const SESSION_QUERY = { queryKey: SESSION_KEY, queryFn: readSession, staleTime: Infinity };

/** A session. `hasEnded`: it has ended, but the page with its unsaved input is kept until the person signs in again. */
type KnownSession = ConsoleSession & { readonly hasEnded?: boolean };

/** The session; null where nobody is signed in; undefined until that is known. */
export function useSession() {
  return useQuery(SESSION_QUERY);
}

/** Requests the session before the first component is rendered, because most pages wait for it. */
export function askForSession(): void {
  queries.query(SESSION_QUERY).catch(() => undefined);
}

/** Uses the session from a response that has begun or confirmed it. */
export function adoptSession(session: ConsoleSession): void {
  keepCsrfToken(session.csrf_token);
  queries.setQueryData(SESSION_KEY, session);
}

/**
 * Requests the session. Null: nobody is signed in. If it has ended while the page is kept for its unsaved input, returns it
 * with `hasEnded`.
 */
async function readSession(): Promise<KnownSession | null> {
  try {
    const session = (await beginEmbedded()) ?? (await api.session.get());
    keepCsrfToken(session.csrf_token);
    return session;
  } catch (error) {
    // The client has called `endSession`, which has written what is left of the session into the cache.
    if (error instanceof ApiError && error.code === "unauthorized")
      return queries.getQueryData<KnownSession | null>(SESSION_KEY) ?? null;
    throw error;
  }
}

/**
 * Begins a session with the token of a dashboard link. Returns undefined if the address has none, or if the link no longer
 * works.
 */
async function beginEmbedded(): Promise<ConsoleSession | undefined> {
  const token = takeLinkToken();
  if (token === undefined) return undefined;
  try {
    return await api.embeddedSessions.begin({ body: { token } });
  } catch (error) {
    // A link works once. If the portal's page was reloaded, the session that the link began may still be valid.
    if (error instanceof ApiError && error.code === "not_found") return undefined;
    throw error;
  }
}

/** Returns the session. Only for pages that are shown to people who are signed in. */
export function useSignedIn(): ConsoleSession {
  const { data } = useSession();
  if (data === undefined || data === null) throw new Error("Sign in to see this page");
  return data;
}

/** The system whose data a page shows, and the membership that lets the reader see it. */
export interface Access {
  readonly systemId: string;
  readonly systemName: string;
  readonly membership: Membership;
  /** Whether the reader may change what the page shows. */
  readonly canChange: boolean;
}

/**
 * Returns the membership under which an operator's page is read: the one of `?system=`, or the first. Undefined: the reader
 * is no member of that operator.
 */
export function useOperatorAccess(): Access | undefined {
  const { memberships } = useSignedIn();
  const systemId = new URLSearchParams(useSearch()).get("system");
  const membership = operatorMembership(memberships, systemId);
  return membership && accessBy(membership, membership.role === "admin");
}

/**
 * Returns the membership under which a partner's page is read: one for the partner, or else one for the operator, with which
 * `canChange` is false. Undefined: the reader has neither.
 */
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

/** Returns the membership for the operator of a system; of any system if the id is null. */
function operatorMembership(memberships: readonly Membership[], systemId: string | null): Membership | undefined {
  return memberships.find((one) => one.partner_id === null && (systemId === null || one.system_id === systemId));
}

function accessBy(membership: Membership, canChange: boolean): Access {
  return { systemId: membership.system_id, systemName: membership.system_name, membership, canChange };
}

/** Returns the membership whose pages the navigation lists. */
export function useCurrentMembership(): Membership | undefined {
  const { memberships } = useSignedIn();
  const [path] = useLocation();
  return currentMembership(memberships, path, useSearch());
}

/** Returns the membership that the address names. Personal pages such as the account belong to the first membership. */
function currentMembership(memberships: readonly Membership[], path: string, search: string): Membership | undefined {
  const system = new URLSearchParams(search).get("system");
  const [, area, partner] = path.split("/");
  const partnerId = area === "partners" ? decodeURIComponent(partner ?? "") : undefined;
  const isPersonal = area === undefined || area === "account";
  const inSystem = memberships.filter(({ system_id }) => system === null || system_id === system);
  return (
    inSystem.find(({ partner_id }) => partnerId !== undefined && partner_id === partnerId) ??
    // An operator's page, or a partner's page that the reader sees as the operator.
    inSystem.find(({ partner_id }) => !isPersonal && partner_id === null) ??
    memberships[0]
  );
}
