import { serviceError } from "@bikeshare/rules";
import type { ConsoleRoutes } from "./answers.ts";
import { consoleSession } from "./authorize.ts";
import { describeSession, passkeyProof, showSession, signOutAddress } from "./browser-session.ts";
import type { ConsoleContext } from "./context.ts";
import { endEmbeddedSession } from "./dashboard-links/service.ts";
import { confirmPerson, requireMethod } from "./people/sign-in.ts";
import { clearFrameCookie, clearSessionCookie } from "./session-cookie.ts";
import { confirmSession, endSession } from "./sessions/service.ts";

type Routes = ConsoleRoutes;

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
