import { TLSSocket } from "node:tls";
import type { FastifyRequest } from "fastify";
import { protoOf } from "../http/transport.ts";

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

/** Tells whether a request brings a session of either kind, good or not. */
export function bringsSession(request: CookieRequest): boolean {
  return (sessionToken(request) ?? frameToken(request)) !== undefined;
}

/** Gives the browser the cookie of a session. It goes when the browser closes, and the server ends it earlier than that. */
export function setSessionCookie(request: CookieRequest, reply: HeaderWriter, token: string): void {
  reply.header("set-cookie", cookieHeader(request, "session", token, ""));
}

/** Takes the cookie back. */
export function clearSessionCookie(request: CookieRequest, reply: HeaderWriter): void {
  reply.header("set-cookie", cookieHeader(request, "session", "", "; Max-Age=0"));
}

/**
 * Gives a frame its cookie, which counts in frames of this portal only (`Partitioned`), so that browsers which block
 * cookies of other sites accept it. Browsers take `Secure` from this machine without https too.
 */
export function setFrameCookie(request: CookieRequest, reply: HeaderWriter, token: string): void {
  reply.header("set-cookie", frameCookieHeader(request, token, ""));
}

/** Takes a frame's cookie back. */
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

type Cookie = "session" | "oidc" | "frame";

function readCookie(request: CookieRequest, cookie: Cookie): string | undefined {
  const name = cookieName(request, cookie);
  const cookies = request.raw.headers.cookie?.split(";") ?? [];
  const found = cookies.map((text) => text.trim()).find((text) => text.startsWith(`${name}=`));
  return found?.slice(name.length + 1);
}

/** `Lax`: a cookie must come with the request by which the identity provider sends the browser back. */
function cookieHeader(request: CookieRequest, cookie: Cookie, value: string, more: string): string {
  const secure = isHttps(request) ? "; Secure" : "";
  return `${cookieName(request, cookie)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}${more}`;
}

/** `__Host-` makes browsers refuse the cookie from anybody but this very host, by https. On this machine there is none. */
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
