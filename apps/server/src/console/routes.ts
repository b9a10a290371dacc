import type { consoleContract } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { ConsoleContext } from "./context.ts";
import { invitationRoutes, sessionRoutes, signInRoutes } from "./session-routes.ts";

/** Every endpoint of the console, each area's from its own file. */
export function consoleRoutes(context: ConsoleContext): RouterImplementation<typeof consoleContract> {
  return {
    session: sessionRoutes(context),
    signIn: signInRoutes(context),
    invitations: invitationRoutes(context),
  };
}
