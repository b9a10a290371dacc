import type { CommandContext } from "../../command-context.ts";
import type { Queryable } from "../../storage/db/database.ts";
import {
  deleteExpiredSessions,
  deleteSession,
  deleteSessionOf,
  deleteSessionsOf,
  findSession,
  findSessionId,
  insertSession,
  type ListedSession,
  listSessions,
  type SessionRow,
  updateLastUse,
  updateToken,
} from "./queries.ts";
import { expiryOf, hashToken, isActive, isToken, makeToken } from "./session.rules.ts";

export type { MembershipRow, SessionRow } from "./queries.ts";

/** The browser of a session, as the list of a person's sessions shows it. */
export interface Browser {
  readonly address: string;
  readonly userAgent: string;
}

/** Maximum characters of a `User-Agent` that are stored. */
const MAX_USER_AGENT_LENGTH = 300;

/**
 * Begins a session of a person.
 * @param signIn `confirmedAt`: when the person proved their identity, in milliseconds since 1970; now by default.
 * `encrypted`: the encrypted ID token of a sign-in at the identity provider
 * @returns the cookie's token, which is not stored
 */
export async function startSession(
  context: CommandContext,
  personId: string,
  browser: Browser,
  { confirmedAt, encrypted }: { readonly confirmedAt?: number; readonly encrypted?: string } = {},
): Promise<string> {
  const { db, clock, ids } = context;
  const now = new Date(clock());
  // The identity provider's clock may be ahead: its time must not make the confirmation last longer.
  const confirmed = Math.min(confirmedAt ?? now.getTime(), now.getTime());
  const token = makeToken((bytes) => ids.randomBytes(bytes));
  await deleteExpiredSessions(db, personId, now);
  await insertSession(db, {
    id: ids.next("session"),
    person_id: personId,
    hash: hashToken(token),
    created_at: now,
    last_used_at: now,
    expires_at: expiryOf(now.getTime()),
    confirmed_at: new Date(confirmed),
    id_token: encrypted ?? null,
    address: browser.address,
    user_agent: browser.userAgent.slice(0, MAX_USER_AGENT_LENGTH),
  });
  return token;
}

/**
 * Returns the session of a cookie's token; undefined when there is none, or it has ended. Every request reads it anew, so
 * that the end of a session or a membership takes effect at once on every process.
 */
export async function sessionOf(db: Queryable, token: string, now: number): Promise<SessionRow | undefined> {
  if (!isToken(token)) return undefined;
  const session = await findSession(db, hashToken(token));
  return session !== undefined && isActive(session, now) ? session : undefined;
}

/** Returns a person's sessions that have not ended, the last used first. */
export async function sessionsOf(db: Queryable, personId: string, now: number): Promise<ListedSession[]> {
  return (await listSessions(db, personId)).filter((session) => isActive(session, now));
}

/** Gives a session a new token, and marks it as confirmed now. @returns undefined when it has ended meanwhile */
export async function confirmSession({ db, clock, ids }: CommandContext, id: string): Promise<string | undefined> {
  const token = makeToken((bytes) => ids.randomBytes(bytes));
  return (await updateToken(db, id, hashToken(token), new Date(clock()))) ? token : undefined;
}

/** Tells whether a session has not been ended. */
export async function hasSession(db: Queryable, id: string): Promise<boolean> {
  return (await findSessionId(db, id)) !== undefined;
}

/** Ends one session of a person. @returns whether there was one */
export const endSessionOf: (db: Queryable, personId: string, id: string) => Promise<boolean> = deleteSessionOf;

/** Ends a person's sessions. `exceptId`: the session that goes on; null: none. */
export const endSessionsOf: (db: Queryable, personId: string, exceptId: string | null) => Promise<void> =
  deleteSessionsOf;

/** Ends a session. @returns its encrypted ID token; null where it did not begin at the identity provider */
export const endSession: (db: Queryable, id: string) => Promise<string | null> = deleteSession;

/** Records that a session was used. */
export const noteUse: (db: Queryable, id: string, at: Date, address: string) => Promise<void> = updateLastUse;
