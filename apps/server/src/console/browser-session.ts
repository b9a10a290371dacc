import type { ConsoleSession } from "@bikeshare/contract/console";
import type { AuthenticationResponseJSON } from "@simplewebauthn/server";
import type { FastifyRequest } from "fastify";
import { timeZoneOfSystem } from "../city/descriptions/service.ts";
import { countedAddress } from "../http/transport.ts";
import type { Queryable } from "../storage/db/database.ts";
import type { Served } from "./answers.ts";
import type { ConsoleContext } from "./context.ts";
import type { BeginSession } from "./people/context.ts";
import { namedBaseUrl } from "./people/people.rules.ts";
import type { PasskeyProof } from "./people/sign-in.ts";
import { setSessionCookie } from "./session-cookie.ts";
import { type Browser, endSession, sessionOf, type SessionRow, startSession } from "./sessions/service.ts";
import { confirmedUntil, csrfTokenOf } from "./sessions/session.rules.ts";

/*
 * Begins the sessions of browsers, describes them for pages, and signs browsers out at the identity provider. Reads from a
 * request what sign-ins need.
 */

/** A request and its reply, through which a browser gets its cookie. */
export interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: { header(name: string, value: string): unknown };
}

/**
 * Returns a function that begins a session and ends the browser's previous one. Call `showSession` next: it sets the cookie.
 */
export function beginIn(context: ConsoleContext, { request }: Exchange): BeginSession {
  return async (tx, personId, { confirmedAt, idToken } = {}) => {
    // Undefined: the person has not signed in at the identity provider.
    const encrypted = idToken === undefined ? undefined : encryptHint(context, personId, idToken);
    const facts = { ...(confirmedAt !== undefined && { confirmedAt }), ...(encrypted !== undefined && { encrypted }) };
    const token = await startSession({ ...context, db: tx }, personId, browserOf(request), facts);
    if (request.consoleSession !== undefined) await endSession(tx, request.consoleSession.id);
    return token;
  };
}

/**
 * Returns the encryption context of an ID token that is kept as a hint: at sign-out it tells the provider who signs out
 * (OpenID Connect's `id_token_hint`). The context contains the issuer: after a change of provider, the token cannot be
 * decrypted, and so is not sent to the new provider.
 */
const hintContextOf = (issuer: string | undefined, personId: string) => `id token ${personId} ${issuer ?? ""}`;

/**
 * Maximum characters of an ID token in the sign-out URL. Too high: identity servers reject the URL, because longer
 * tokens contain lists of groups.
 */
const MAX_HINT_LENGTH = 4_000;

/**
 * Stored instead of a token that is too long. It cannot be decrypted, but still says that the session began at the provider:
 * at sign-out, the provider asks the person.
 */
const NO_HINT = "";

/** Encrypts an ID token for signing out later. */
function encryptHint({ identityProvider, cipher }: ConsoleContext, personId: string, idToken: string): string {
  return idToken.length > MAX_HINT_LENGTH
    ? NO_HINT
    : cipher.encrypt(hintContextOf(identityProvider?.issuer, personId), idToken);
}

/**
 * Returns the URL that signs a browser out at the identity provider; null: there is no provider, the session did not begin
 * there, or the provider has no such page or cannot be reached.
 * @param encrypted the session's ID token; null: it has none. Without a token that can be decrypted, the provider asks the
 *   person to confirm
 */
export async function signOutAddress(
  { identityProvider, cipher, baseUrl }: ConsoleContext,
  personId: string,
  encrypted: string | null,
): Promise<string | null> {
  if (identityProvider === undefined || encrypted === null) return null;
  const idToken = cipher.decrypt(hintContextOf(identityProvider.issuer, personId), encrypted);
  const returnTo = `${namedBaseUrl(baseUrl())}/dashboard/sign-in`;
  // Ignores an error, because the session here has ended even if the provider cannot be reached.
  return (await identityProvider.signOutAddress(idToken, returnTo).catch(() => undefined)) ?? null;
}

/** Gives a browser the cookie of a session. @returns the session as the page sees it */
export async function showSession(
  { db, clock }: Pick<ConsoleContext, "db" | "clock">,
  { request, reply }: Exchange,
  token: string,
): Promise<Served<ConsoleSession>> {
  setSessionCookie(request, reply, token);
  const session = await sessionOf(db, token, clock());
  if (session === undefined) throw new Error("a session that has just begun is not there");
  return describeSession(db, session, token, clock());
}

/** Returns a session as the page sees it. */
export async function describeSession(
  db: Queryable,
  session: SessionRow,
  token: string,
  now: number,
): Promise<Served<ConsoleSession>> {
  const until = confirmedUntil(session);
  const zones = await timeZonesOf(db, new Set(session.memberships.map(({ system_id }) => system_id)));
  return {
    person: { id: session.person_id, email: session.email, name: session.name },
    memberships: session.memberships.map((membership) => ({
      ...membership,
      time_zone: zones.get(membership.system_id) ?? "UTC",
    })),
    needs_proof: session.needs_proof,
    csrf_token: csrfTokenOf(token),
    confirmed_until: until.getTime() > now ? until : null,
    expires_at: session.expires_at,
  };
}

/** Returns the time zone of each system. Reads one after the other, so that a person of many systems uses one connection. */
async function timeZonesOf(db: Queryable, systemIds: ReadonlySet<string>): Promise<ReadonlyMap<string, string>> {
  const zones = new Map<string, string>();
  for (const systemId of systemIds) zones.set(systemId, await timeZoneOfSystem(db, systemId));
  return zones;
}

function browserOf({ transport, headers }: FastifyRequest): Browser {
  return { address: transport?.address ?? "", userAgent: headers["user-agent"] ?? "" };
}

/**
 * Returns the address by which sign-in attempts are counted; they are also counted by account. For IPv6, it is the largest
 * network that a provider assigns to one customer.
 */
export function addressOf({ transport }: Pick<FastifyRequest, "transport">): string {
  return countedAddress(transport?.address ?? "", 48);
}

/** Returns a passkey's answer to a challenge. The contract leaves `response` open: the WebAuthn library validates it. */
export function passkeyProof(body: { readonly challenge_token: string; readonly response: object }): PasskeyProof {
  return { challengeToken: body.challenge_token, response: body.response as AuthenticationResponseJSON };
}
