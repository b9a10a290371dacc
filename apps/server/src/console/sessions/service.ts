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

/** The browser that a session is for, as its list shows it. */
export interface Browser {
  readonly address: string;
  readonly userAgent: string;
}

/** Most characters of a `User-Agent` that are kept. */
const MAX_USER_AGENT_LENGTH = 300;

/**
 * Begins a session of a person.
 * @param signIn when they proved who they are, in milliseconds since 1970, if not now; the encrypted ID token of a sign-in at the
 *   identity provider
 * @returns the cookie's token, which is stored nowhere
 */
export async function startSession(
  context: CommandContext,
  personId: string,
  browser: Browser,
  { confirmedAt, encrypted }: { readonly confirmedAt?: number; readonly encrypted?: string } = {},
): Promise<string> {
  const { db, clock, ids } = context;
  const now = new Date(clock());
  const token = makeToken((bytes) => ids.randomBytes(bytes));
  await deleteExpiredSessions(db, personId, now);
  await insertSession(db, {
    id: ids.next("session"),
    person_id: personId,
    hash: hashToken(token),
    created_at: now,
    last_used_at: now,
    expires_at: expiryOf(now.getTime()),
    confirmed_at: new Date(Math.min(confirmedAt ?? now.getTime(), now.getTime())),
    id_token: encrypted ?? null,
    address: browser.address,
    user_agent: browser.userAgent.slice(0, MAX_USER_AGENT_LENGTH),
  });
  return token;
}

/**
 * Returns the session of a cookie's token; undefined when there is none, or it is over. It is read anew with each request: a
 * session or a membership that ends does so at once on every process.
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

/** Goes on with a session under a new token, as confirmed now. @returns undefined when it has ended meanwhile */
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

/** Ends a person's sessions, except one where one is named. */
export const endSessionsOf: (db: Queryable, personId: string, exceptId: string | null) => Promise<void> =
  deleteSessionsOf;

/** Ends a session. @returns its encrypted ID token; null where it did not begin at the identity provider */
export const endSession: (db: Queryable, id: string) => Promise<string | null> = deleteSession;

/** Notes that a session was used. */
export const noteUse: (db: Queryable, id: string, at: Date, address: string) => Promise<void> = updateLastUse;
