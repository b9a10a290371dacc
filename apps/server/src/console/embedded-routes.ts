import type { ConsoleRoutes } from "./answers.ts";
import { describeSession } from "./browser-session.ts";
import type { ConsoleContext } from "./context.ts";
import { embeddedSessionOf, openDashboardLink } from "./dashboard-links/service.ts";
import { setFrameCookie } from "./session-cookie.ts";

type Routes = ConsoleRoutes["embeddedSessions"];

/** Sessions in frames of the operator's portal. */
export function embeddedSessionRoutes(context: ConsoleContext): Routes {
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
