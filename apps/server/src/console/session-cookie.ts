import { TLSSocket } from "node:tls";
import type { FastifyRequest } from "fastify";

/** What of a reply is needed here; Fastify's own type differs between its versions, and ts-rest hands over the older. */
interface HeaderWriter {
  header(name: string, value: string): unknown;
}

type CookieRequest = Pick<FastifyRequest, "raw">;

/** The token in a request's session cookie; undefined without one. */
export function sessionToken(request: CookieRequest): string | undefined {
  const name = cookieName(request);
  const cookies = request.raw.headers.cookie?.split(";") ?? [];
  const cookie = cookies.map((text) => text.trim()).find((text) => text.startsWith(`${name}=`));
  return cookie?.slice(name.length + 1);
}

/** Gives the browser the cookie of a session. It goes when the browser closes, and the server ends it earlier than that. */
export function setSessionCookie(request: CookieRequest, reply: HeaderWriter, token: string): void {
  reply.header("set-cookie", cookieHeader(request, token, ""));
}

/** Takes the cookie back. */
export function clearSessionCookie(request: CookieRequest, reply: HeaderWriter): void {
  reply.header("set-cookie", cookieHeader(request, "", "; Max-Age=0"));
}

function cookieHeader(request: CookieRequest, value: string, more: string): string {
  const secure = isHttps(request) ? "; Secure" : "";
  return `${cookieName(request)}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}${more}`;
}

/** `__Host-` makes browsers refuse the cookie from anybody but this very host, by https. On this machine there is none. */
function cookieName(request: CookieRequest): string {
  return isHttps(request) ? "__Host-bikeshare_session" : "bikeshare_session";
}

/**
 * Whether the browser speaks https. A request that got here came encrypted or from this machine, so what its headers say
 * can only make the cookie stricter.
 */
function isHttps({ raw }: CookieRequest): boolean {
  return (
    raw.socket instanceof TLSSocket ||
    String(raw.headers["x-forwarded-proto"] ?? "")
      .trim()
      .endsWith("https")
  );
}
