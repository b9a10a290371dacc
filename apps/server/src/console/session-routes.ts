import type { Account } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { SignInMethod } from "../config.ts";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { type ConsoleRequest, consoleSession } from "./authorize.ts";
import { addressOf, beginIn, describeSession, passkeyProof, showSession, signOutAddress } from "./browser-session.ts";
import type { ConsoleContext } from "./context.ts";
import { embeddedSessionOf, endEmbeddedSession, openDashboardLink } from "./dashboard-links/service.ts";
import {
  addPasskey,
  credentialsOf,
  disconnectIdentity,
  removePasskey,
  removePassword,
  setAuthenticatorApp,
  setPassword,
  unsetAuthenticatorApp,
} from "./people/account.ts";
import { beginSetup } from "./people/authenticator-app.ts";
import { acceptInvitation, openInvitation } from "./people/invitations.ts";
import { mailRemoved } from "./people/mails.ts";
import type { AccountOwner } from "./people/members.ts";
import { beginAuthentication, beginRegistration } from "./people/passkeys.ts";
import { relyingParty } from "./people/people.rules.ts";
import { confirmPerson, requireMethod, signInWithPasskey, signInWithPassword } from "./people/sign-in.ts";
import { clearFrameCookie, clearSessionCookie, setFrameCookie } from "./session-cookie.ts";
import { confirmSession, endSession, endSessionOf, endSessionsOf, sessionsOf } from "./sessions/service.ts";

/*
 * Routes of signing in, invitations, the caller's own session and account, and sessions in frames of the operator's portal.
 * Those of the identity provider are in provider-routes.ts.
 */

/** Routes for signing in. */
export function signInRoutes(
  context: ConsoleContext,
): Omit<ConsoleRoutes["signIn"], "beginAtProvider" | "finishAtProvider"> {
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
      return { status: 200, body: await showSession(context, { request, reply }, outcome.session) };
    },
  };
}

/** Routes with which an invited person reads and accepts an invitation. */
export function invitationRoutes(context: ConsoleContext): ConsoleRoutes["invitations"] {
  return {
    read: async ({ body }) => {
      const invitation = await openInvitation(context, body.token);
      const { needsSignIn, provesAddress } = invitation;
      // The response contains only the fields of the contract (answers.ts), so not the hash of the token.
      return { status: 200, body: { ...invitation, needs_sign_in: needsSignIn, proves_address: provesAddress } };
    },
    accept: async ({ body, request, reply }) => {
      const { consoleSession: session } = request;
      const signedIn = session && { personId: session.person_id, sessionId: session.id };
      const begin = beginIn(context, { request, reply });
      const accepted = await acceptInvitation(context, body.token, { signedIn, name: body.name }, begin);
      const begun = await showSession(context, { request, reply }, accepted.session);
      // `removed`: the account had credentials that nobody had proved, and lost them.
      const hasRemoved = accepted.removed !== undefined;
      if (hasRemoved) mailRemoved(context, accepted.person, "the link of an invitation");
      return { status: 200, body: { ...begun, credentials_removed: hasRemoved } };
    },
  };
}

/** Routes of the caller's own session. */
export function sessionRoutes(context: ConsoleContext): Omit<ConsoleRoutes["session"], "confirmAtProvider"> {
  const { db, clock, signInLimits } = context;
  return {
    get: async ({ request }) => {
      const session = consoleSession(request);
      return { status: 200, body: await describeSession(db, session, session.token, clock()) };
    },
    end: async ({ request, reply }) => {
      const { id, person_id: personId, isEmbedded } = consoleSession(request);
      if (isEmbedded) {
        await endEmbeddedSession(db, id);
        clearFrameCookie(request, reply);
        return { status: 200, body: { provider_url: null } };
      }
      const encryptedIdToken = await endSession(db, id);
      clearSessionCookie(request, reply);
      return { status: 200, body: { provider_url: await signOutAddress(context, personId, encryptedIdToken) } };
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

/** Routes that begin sessions in frames of the operator's portal. */
export function embeddedSessionRoutes(context: ConsoleContext): ConsoleRoutes["embeddedSessions"] {
  const { db, clock } = context;
  return {
    begin: async ({ body, request, reply }) => {
      const token = await openDashboardLink(context, body.token);
      setFrameCookie(request, reply, token);
      const session = await embeddedSessionOf(db, token, clock());
      if (session === undefined) throw new Error("a session that has just begun is not there");
      return { status: 200, body: await describeSession(db, session, token, clock()) };
    },
  };
}

type AccountRoutes = ConsoleRoutes["account"];

/** Routes of the caller's own account: sign-in methods and sessions. */
export function accountRoutes(context: ConsoleContext): Omit<AccountRoutes, "connectIdentity"> {
  const { db } = context;
  const answer = async (request: ConsoleRequest) => ({
    status: 200 as const,
    body: await describeAccount(context, consoleSession(request)),
  });
  return {
    get: ({ request }) => answer(request),
    passkeyOptions: async ({ request }) => {
      requireMethod(context, "passkey");
      const { person_id: id, email, name } = consoleSession(request);
      const { options, challengeToken } = await beginRegistration(context, { id, email, name });
      return { status: 200, body: { options: { ...options }, challenge_token: challengeToken } };
    },
    addPasskey: async ({ request, body }) => {
      const { name, challenge_token: challengeToken } = body;
      // The library validates the other fields of the browser's answer.
      const response = body.response as unknown as RegistrationResponseJSON;
      await addPasskey(context, ownerOf(request), { name, challengeToken, response });
      return answer(request);
    },
    removePasskey: async ({ request, params }) => {
      await removePasskey(context, ownerOf(request), params.id);
      return answer(request);
    },
    ...passwordRoutes(context, answer),
    disconnectIdentity: async ({ request }) => {
      await disconnectIdentity(context, ownerOf(request));
      return answer(request);
    },
    endSession: async ({ request, params }) => {
      if (!(await endSessionOf(db, consoleSession(request).person_id, params.id)))
        throw serviceError("not_found", "session");
      return answer(request);
    },
    endOtherSessions: async ({ request }) => {
      const { person_id: personId, id } = consoleSession(request);
      await endSessionsOf(db, personId, id);
      return answer(request);
    },
  };
}

/** Routes of the password, and of the authenticator app whose codes are asked for with it. */
function passwordRoutes(
  context: ConsoleContext,
  answer: (request: ConsoleRequest) => Promise<{ readonly status: 200; readonly body: Served<Account> }>,
): Pick<
  AccountRoutes,
  "setPassword" | "removePassword" | "beginAuthenticatorApp" | "setAuthenticatorApp" | "removeAuthenticatorApp"
> {
  return {
    setPassword: async ({ request, body }) => {
      requireMethod(context, "password");
      await setPassword(context, ownerOf(request), body.password);
      return answer(request);
    },
    removePassword: async ({ request }) => {
      await removePassword(context, ownerOf(request));
      return answer(request);
    },
    beginAuthenticatorApp: async ({ request }) => {
      const { person_id: id, email } = consoleSession(request);
      const { secret, url, qrRows, setupToken } = await beginSetup(context, { id, email });
      return { status: 200, body: { secret, otpauth_url: url, qr_rows: qrRows, setup_token: setupToken } };
    },
    setAuthenticatorApp: async ({ request, body }) => {
      const setup = { setupToken: body.setup_token, code: body.code };
      return { status: 200, body: { recovery_codes: await setAuthenticatorApp(context, ownerOf(request), setup) } };
    },
    removeAuthenticatorApp: async ({ request }) => {
      await unsetAuthenticatorApp(context, ownerOf(request));
      return answer(request);
    },
  };
}

function ownerOf(request: ConsoleRequest): AccountOwner & { readonly email: string } {
  const { person_id: personId, email, id: sessionId } = consoleSession(request);
  return { personId, email, sessionId };
}

async function describeAccount(
  { db, clock, identityProvider }: Pick<ConsoleContext, "db" | "clock" | "identityProvider">,
  { person_id: personId, id: current }: { readonly person_id: string; readonly id: string },
): Promise<Served<Account>> {
  const credentials = await credentialsOf({ identityProvider }, db, personId);
  const sessions = await sessionsOf(db, personId, clock());
  return {
    passkeys: credentials.passkeys,
    has_password: credentials.hasPassword,
    identity: credentials.identity ?? null,
    authenticator_app: {
      is_set_up: credentials.hasAuthenticatorApp,
      recovery_codes_left: credentials.recoveryCodesLeft,
    },
    sessions: sessions.map((session) => ({ ...session, is_current: session.id === current })),
  };
}
