import type { Account } from "@bikeshare/contract/console";
import { serviceError } from "@bikeshare/rules";
import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { ConsoleRoutes, Served } from "./answers.ts";
import { consoleSession } from "./authorize.ts";
import type { ConsoleContext } from "./context.ts";
import type { AccountOwner } from "./people/account-owner.ts";
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
import { beginRegistration } from "./people/passkeys.ts";
import { requireMethod } from "./people/sign-in.ts";
import { endSessionOf, endSessionsOf, sessionsOf } from "./sessions/service.ts";

type Routes = ConsoleRoutes["account"];
type SessionRequest = Parameters<typeof consoleSession>[0];

/** A person's own account: how they sign in, and where they are signed in. */
export function accountRoutes(context: ConsoleContext): Omit<Routes, "connectIdentity"> {
  const { db } = context;
  const answer = async (request: SessionRequest) => ({
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

/** The password, and the codes asked for with it. */
function passwordRoutes(
  context: ConsoleContext,
  answer: (request: SessionRequest) => Promise<{ readonly status: 200; readonly body: Served<Account> }>,
): Pick<
  Routes,
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

function ownerOf(request: SessionRequest): AccountOwner & { readonly email: string } {
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
