import type { consoleContract } from "@bikeshare/contract/console";
import type { RouterImplementation } from "@ts-rest/fastify";
import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";
import { invitationRoutes, sessionRoutes, signInRoutes } from "./session-routes.ts";

/** What the routes of the console work with. */
export interface ConsoleOptions extends CommandContext {
  readonly db: Database;
}

/** Every endpoint of the console, each area's from its own file. */
export function consoleRoutes(options: ConsoleOptions): RouterImplementation<typeof consoleContract> {
  return {
    session: sessionRoutes(options),
    signIn: signInRoutes(options),
    invitations: invitationRoutes(options),
  };
}
