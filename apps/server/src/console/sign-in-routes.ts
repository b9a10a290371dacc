import { serviceError } from "@bikeshare/rules";
import type { SignInMethod } from "../config.ts";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleSession } from "./authorize.ts";
import { addressOf, beginIn, describeSession, passkeyProof, showSession, signOutAddress } from "./browser-session.ts";
import type { ConsoleContext } from "./context.ts";
import { embeddedSessionOf, endEmbeddedSession, openDashboardLink } from "./dashboard-links/service.ts";
import { acceptInvitation, openInvitation } from "./people/accept-invitation.ts";
import { beginAuthentication } from "./people/passkeys.ts";
import { relyingParty } from "./people/relying-party.rules.ts";
import { confirmPerson, requireMethod, signInWithPasskey, signInWithPassword } from "./people/sign-in.ts";
import { mailRemoved } from "./removed-mail.ts";
import { clearFrameCookie, clearSessionCookie, setFrameCookie } from "./session-cookie.ts";
import { confirmSession, endSession } from "./sessions/service.ts";

type Routes = ConsoleRoutes;

/** Signing in. */
export function signInRoutes(context: ConsoleContext): Omit<Routes["signIn"], "beginAtProvider" | "finishAtProvider"> {
  const { serviceName, baseUrl, signInLimits, signInMethods, identityProvider } = context;
  const may = (method: SignInMethod) => signInMethods.includes(method);
  return {
    options: () => {
      const branding = { name: serviceName, ...context.branding };
      const methods = {
        passkey: may("passkey") && relyingParty(baseUrl()) !== undefined,
        password: may("password"),
        provider: may("oidc") ? (identityProvider?.name ?? null) : null,
      };
      return Promise.resolve({ status: 200, body: { branding, methods } });
    },
    passkeyOptions: async () => {
      requireMethod(context, "passkey");
      const { options, challengeToken } = await beginAuthentication(context);
      return { status: 200, body: { options: { ...options }, challenge_token: challengeToken } };
    },
    passkey: async ({ request, reply, body }) => {
      requireMethod(context, "passkey");
      const begin = beginIn(context, { request, reply });
      const token = await signInWithPasskey(context, passkeyProof(body), begin);
      return { status: 200, body: await showSession(context, { request, reply }, token) };
    },
    password: async ({ request, reply, body }) => {
      requireMethod(context, "password");
      const address = addressOf(request);
      await signInLimits.count(body.email, address);
      const outcome = await signInWithPassword(context, { ...body, address }, beginIn(context, { request, reply }));
      if (outcome === "needs_code") return { status: 200, body: { needs_code: true } };
      return { status: 200, body: await showSession(context, { request, reply }, outcome) };
    },
  };
}

/** The invited person's side of invitations. */
export function invitationRoutes(context: ConsoleContext): Routes["invitations"] {
  return {
    read: async ({ body }) => {
      const invitation = await openInvitation(context, body.token);
      const { needsSignIn, provesAddress } = invitation;
      return { status: 200, body: { ...invitation, needs_sign_in: needsSignIn, proves_address: provesAddress } };
    },
    accept: async ({ body, request, reply }) => {
      const { consoleSession: session } = request;
      const signedIn = session && { personId: session.person_id, sessionId: session.id };
      const begin = beginIn(context, { request, reply });
      const accepted = await acceptInvitation(context, body.token, { signedIn, name: body.name }, begin);
      const begun = await showSession(context, { request, reply }, accepted.session);
      const hasRemoved = accepted.removed !== undefined;
      if (hasRemoved) mailRemoved(context, accepted.person, "the link of an invitation");
      return { status: 200, body: { ...begun, credentials_removed: hasRemoved } };
    },
  };
}

/** One's own session. */
export function sessionRoutes(context: ConsoleContext): Omit<Routes["session"], "confirmAtProvider"> {
  const { db, clock, signInLimits } = context;
  return {
    get: async ({ request }) => {
      const session = consoleSession(request);
      return { status: 200, body: describeSession(session, session.token, clock()) };
    },
    end: async ({ request, reply }) => {
      const { id, person_id: personId, isEmbedded } = consoleSession(request);
      if (isEmbedded) {
        await endEmbeddedSession(db, id);
        clearFrameCookie(request, reply);
        return { status: 200, body: { provider_url: null } };
      }
      const encrypted = await endSession(db, id);
      clearSessionCookie(request, reply);
      return { status: 200, body: { provider_url: await signOutAddress(context, personId, encrypted) } };
    },
    confirm: async ({ request, reply, body }) => {
      const { person_id: personId, id } = consoleSession(request);
      requireMethod(context, "password" in body ? "password" : "passkey");
      if ("password" in body) await signInLimits.countConfirmation(id);
      await confirmPerson(context, personId, "password" in body ? body : passkeyProof(body));
      const token = await confirmSession(context, id);
      if (token === undefined) throw serviceError("unauthorized", "endedSession");
      return { status: 200, body: await showSession(context, { request, reply }, token) };
    },
  };
}

/** Sessions in frames of the operator's portal. */
export function embeddedSessionRoutes(context: ConsoleContext): Routes["embeddedSessions"] {
  const { db, clock } = context;
  return {
    begin: async ({ body, request, reply }) => {
      const token = await openDashboardLink(context, body.token);
      setFrameCookie(request, reply, token);
      const session = await embeddedSessionOf(db, token, clock());
      if (session === undefined) throw new Error("a session that has just begun is not there");
      return { status: 200, body: describeSession(session, token, clock()) };
    },
  };
}
