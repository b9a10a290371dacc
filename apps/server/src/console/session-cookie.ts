import { TLSSocket } from "node:tls";
import type { ConsoleNeeds } from "@bikeshare/contract";
import type { FastifyRequest } from "fastify";
import { protoOf } from "../http/transport.ts";
import { lookUpTogether } from "../partners/keys/look-ups.ts";
import type { Queryable } from "../storage/db/database.ts";
import { embeddedSessionOf } from "./dashboard-links/service.ts";
import { sessionOf, type SessionRow } from "./sessions/service.ts";

/*
 * The cookies of sessions and sign-ins, and the session that a request brings. A frame is a page in the operator's own
 * portal: a dashboard link has opened it for a viewer without an account, and its session has a cookie of its own.
 */

/**
 * The part of a reply that cookies need. Fastify's own type differs between its versions, and ts-rest hands over the older.
 */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

type CookieRequest = Pick<FastifyRequest, "raw">;

/** Returns the token in a request's session cookie; undefined without one. */
export function sessionToken(request: CookieRequest): string | undefined {
  return readCookie(request, "session");
}

/** Returns the token in the cookie of a frame; undefined without one. */
export function frameToken(request: CookieRequest): string | undefined {
  return readCookie(request, "frame");
}

/** Tells whether a request brings the cookie of a session, of a person or of a frame, valid or not. */
export function bringsSession(request: CookieRequest): boolean {
  return (sessionToken(request) ?? frameToken(request)) !== undefined;
}

/**
 * Gives the browser the cookie of a session. The browser deletes it when it closes; the server may end the session earlier.
 */
export function setSessionCookie(request: CookieRequest, reply: HeaderWriter, token: string): void {
  reply.header("set-cookie", cookieHeader(request, "session", token, ""));
}

/** Deletes the session cookie. */
export function clearSessionCookie(request: CookieRequest, reply: HeaderWriter): void {
  reply.header("set-cookie", cookieHeader(request, "session", "", "; Max-Age=0"));
}

/**
 * Gives a frame its cookie. The cookie is valid only in frames of the portal in which it was set (`Partitioned`), so
 * browsers that block cookies of other sites accept it. On localhost, browsers accept `Secure` without https too.
 */
export function setFrameCookie(request: CookieRequest, reply: HeaderWriter, token: string): void {
  reply.header("set-cookie", frameCookieHeader(request, token, ""));
}

/** Deletes a frame's cookie. */
export function clearFrameCookie(request: CookieRequest, reply: HeaderWriter): void {
  reply.header("set-cookie", frameCookieHeader(request, "", "; Max-Age=0"));
}

function frameCookieHeader(request: CookieRequest, value: string, more: string): string {
  const name = cookieName(request, "frame");
  return `${name}=${value}; Path=/; HttpOnly; SameSite=None; Secure; Partitioned${more}`;
}

/** Returns the token of the browser's sign-in at the identity provider; undefined when none is in progress. */
export function attemptToken(request: CookieRequest): string | undefined {
  return readCookie(request, "oidc");
}

/** Sets the cookie of a sign-in at the identity provider. */
export function setAttemptCookie(request: CookieRequest, reply: HeaderWriter, token: string, maxSeconds: number): void {
  reply.header("set-cookie", cookieHeader(request, "oidc", token, `; Max-Age=${maxSeconds}`));
}

export function clearAttemptCookie(request: CookieRequest, reply: HeaderWriter): void {
  reply.header("set-cookie", cookieHeader(request, "oidc", "", "; Max-Age=0"));
}

/** The cookies. `oidc`: a sign-in at the identity provider that is in progress. */
type Cookie = "session" | "oidc" | "frame";

function readCookie(request: CookieRequest, cookie: Cookie): string | undefined {
  const name = cookieName(request, cookie);
  const cookies = request.raw.headers.cookie?.split(";") ?? [];
  const found = cookies.map((text) => text.trim()).find((text) => text.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

/**
 * Returns the header that sets a cookie. `Lax`, because browsers must send the cookie with the request by which the identity
 * provider sends them back.
 */
function cookieHeader(request: CookieRequest, cookie: Cookie, value: string, more: string): string {
  const secure = isHttps(request) ? "; Secure" : "";
  return `${cookieName(request, cookie)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}${more}`;
}

/**
 * Returns the name of a cookie. `__Host-` makes browsers accept the cookie only from this host by https, so the prefix is
 * left out without https.
 */
function cookieName(request: CookieRequest, cookie: Cookie): string {
  return isHttps(request) ? `__Host-bikeshare_${cookie}` : `bikeshare_${cookie}`;
}

/**
 * Tells whether the browser uses https. An accepted request was encrypted or came from this machine, so its headers can
 * only make the cookie stricter.
 */
function isHttps({ raw }: CookieRequest): boolean {
  return raw.socket instanceof TLSSocket || protoOf(raw.headers) === "https";
}

/** The session that a request brings. */
export interface FoundSession extends SessionRow {
  readonly token: string;
  /** The session began with a link of the operator's portal: the person's identity is not proved. */
  readonly isEmbedded: boolean;
}

/** Tells whether a request comes from a page in a frame of the operator's portal, as the page itself declares. */
function isFromFrame({ headers }: Pick<FastifyRequest, "headers">): boolean {
  return headers["x-dashboard-frame"] !== undefined;
}

/**
 * Returns the session of a person's cookie or, for a page in a frame, of the frame's cookie. A browser sends both cookies if
 * the portal is of the same site as the service: each page then uses its own.
 */
async function findSession(
  request: FastifyRequest,
  { audience }: ConsoleNeeds,
  db: Queryable,
  now: number,
): Promise<FoundSession | undefined> {
  const own = isFromFrame(request) ? undefined : sessionToken(request);
  const session = own === undefined ? undefined : await sessionOf(db, own, now);
  if (session !== undefined && own !== undefined) return { ...session, token: own, isEmbedded: false };
  // Streams and downloads in frames cannot send the header that `isFromFrame` reads, only the cookie; all of them read a
  // partner's data. Public endpoints, of signing in and of opening a frame, use no frame's session.
  const mayBeFrame = isFromFrame(request) || (audience === "partner" && request.method === "GET");
  const framed = mayBeFrame && audience !== "public" ? frameToken(request) : undefined;
  const embedded = framed === undefined ? undefined : await embeddedSessionOf(db, framed, now);
  return embedded && framed !== undefined ? { ...embedded, token: framed, isEmbedded: true } : undefined;
}

/** Finds the sessions of requests. */
type SessionFinder = (request: FastifyRequest, needs: ConsoleNeeds) => Promise<FoundSession | undefined>;

/**
 * Creates a finder of sessions. A browser's requests are looked up one batch at a time: those that come during a look-up
 * share the next one. Otherwise a browser with hundreds of simultaneous requests would take all database connections.
 */
export function createSessionFinder(db: Queryable, clock: () => number): SessionFinder {
  // The look-ups that run or are about to, each with the number of requests that wait for it. The name has everything that
  // `findSession` depends on.
  const lookUps = new Map<
    string,
    { readonly find: (request: FastifyRequest) => Promise<FoundSession | undefined>; users: number }
  >();
  return async (request, needs) => {
    const { cookie } = request.headers;
    if (cookie === undefined) return undefined;
    const name = [needs.audience, request.method === "GET", isFromFrame(request), isHttps(request), cookie].join("\n");
    const lookUp = lookUps.get(name) ?? {
      find: lookUpTogether(async (alike: readonly FastifyRequest[]) => {
        // They have the same name, so what is found for the first is right for all.
        const [first = request] = alike;
        const found = await findSession(first, needs, db, clock());
        return alike.map(() => found);
      }),
      users: 0,
    };
    lookUps.set(name, lookUp);
    lookUp.users++;
    try {
      return await lookUp.find(request);
    } finally {
      lookUp.users--;
      if (lookUp.users === 0) lookUps.delete(name);
    }
  };
}

/** Returns a session anew, for streams that outlast a request; undefined: it has ended. */
export async function sessionStillOf(
  { token, isEmbedded }: Pick<FoundSession, "token" | "isEmbedded">,
  db: Queryable,
  now: number,
): Promise<SessionRow | undefined> {
  return isEmbedded ? embeddedSessionOf(db, token, now) : sessionOf(db, token, now);
}
