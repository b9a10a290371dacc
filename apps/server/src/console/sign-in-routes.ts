import type { consoleContract } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { SignInMethod } from "../config.ts";
import { acceptInvitation, openInvitation } from "../people/invitations.ts";
import { beginAuthentication } from "../people/passkeys.ts";
import { relyingParty } from "../people/relying-party.rules.ts";
import { requireMethod, signInWithPasskey, signInWithPassword } from "../people/sign-in.ts";
import { addressOf, passkeyProof, signIn } from "./browser-session.ts";
import type { ConsoleContext } from "./context.ts";

type Routes = RouterImplementation<typeof consoleContract>;

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
      const personId = await signInWithPasskey(context, passkeyProof(body));
      return { status: 200, body: await signIn(context, { request, reply }, personId) };
    },
    password: async ({ request, reply, body }) => {
      requireMethod(context, "password");
      await signInLimits.count(body.email, addressOf(request));
      const outcome = await signInWithPassword(context, body);
      if (outcome === "needs_code") return { status: 200, body: { needs_code: true } };
      return { status: 200, body: await signIn(context, { request, reply }, outcome) };
    },
  };
}

/** The invited person's side of invitations. */
export function invitationRoutes(context: ConsoleContext): Routes["invitations"] {
  return {
    read: async ({ body }) => {
      const invitation = await openInvitation(context, body.token);
      const { email, system_name, partner_name, role, expires_at, needsSignIn } = invitation;
      const named = { email, system_name, partner_name, role, expires_at: expires_at.toISOString() };
      return { status: 200, body: { ...named, needs_sign_in: needsSignIn } };
    },
    accept: async ({ body, request, reply }) => {
      const signedIn = request.consoleSession?.person_id;
      const person = await acceptInvitation(context, body.token, { signedIn, name: body.name });
      return { status: 200, body: await signIn(context, { request, reply }, person.id) };
    },
  };
}
