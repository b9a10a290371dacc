import type { consoleContract, ConsoleSession, SignInOptions } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { FastifyRequest } from "fastify";
import { acceptInvitation, openInvitation } from "../people/invitations.ts";
import { type Browser, endSession, type SessionRow, sessionOf, startSession } from "../sessions/service.ts";
import { confirmedUntil, csrfTokenOf } from "../sessions/session.rules.ts";
import { consoleSession } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import { clearSessionCookie, setSessionCookie } from "./session-cookie.ts";

type Routes = RouterImplementation<typeof consoleContract>;

/** One's own session. */
export function sessionRoutes({ db, clock }: ConsoleContext): Routes["session"] {
  return {
    get: async ({ request }) => {
      const session = consoleSession(request);
      return { status: 200, body: describeSession(session, session.token, clock()) };
    },
    end: async ({ request, reply }) => {
      await endSession(db, consoleSession(request).id);
      clearSessionCookie(request, reply);
      return { status: 200, body: {} };
    },
  };
}

/** How one can sign in. */
export function signInRoutes(_context: ConsoleContext): Routes["signIn"] {
  const options: SignInOptions = {
    branding: { name: "Bike-Sharing Data Service", logo_url: null, color: null },
    methods: { passkey: false, password: false, oidc: null },
  };
  return { options: async () => ({ status: 200, body: options }) };
}

/** The invited person's side of invitations. */
export function invitationRoutes(context: ConsoleContext): Routes["invitations"] {
  return {
    read: async ({ body }) => {
      const { email, system_name, partner_name, role, expires_at, needsSignIn } = await openInvitation(
        context,
        body.token,
      );
      const named = { email, system_name, partner_name, role: role === "admin" ? role : "viewer" } as const;
      return {
        status: 200,
        body: { ...named, expires_at: expires_at.toISOString(), needs_sign_in: needsSignIn },
      };
    },
    accept: async ({ body, request, reply }) => {
      const before = request.consoleSession;
      const person = await acceptInvitation(context, body.token, { signedIn: before?.person_id, name: body.name });
      return { status: 200, body: await signIn(context, { request, reply }, person.id) };
    },
  };
}

/** Begins a session in a browser, in place of the one it had. @returns what the page is told of it */
async function signIn(
  context: ConsoleContext,
  {
    request,
    reply,
  }: { readonly request: FastifyRequest; readonly reply: { header(name: string, value: string): unknown } },
  personId: string,
): Promise<ConsoleSession> {
  const { db, clock } = context;
  const token = await startSession(context, personId, browserOf(request));
  if (request.consoleSession !== undefined) await endSession(db, request.consoleSession.id);
  setSessionCookie(request, reply, token);
  const session = await sessionOf(db, token, clock());
  if (session === undefined) throw new Error("a session that has just begun is not there");
  return describeSession(session, token, clock());
}

function browserOf({ transport, headers }: FastifyRequest): Browser {
  return { address: transport?.address ?? "", userAgent: headers["user-agent"] ?? "" };
}

function describeSession(session: SessionRow, token: string, now: number): ConsoleSession {
  const until = confirmedUntil(session);
  return {
    person: { id: session.person_id, email: session.email, name: session.name },
    memberships: session.memberships.map(({ partner_suspended: _, ...membership }) => membership),
    csrf_token: csrfTokenOf(token),
    confirmed_until: until.getTime() > now ? until.toISOString() : null,
    expires_at: session.expires_at.toISOString(),
  };
}
