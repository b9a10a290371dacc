import type { CommandContext } from "../command-context.ts";
import type { Database } from "../db/database.ts";

/** What the routes of the console work with. */
export interface ConsoleContext extends CommandContext {
  readonly db: Database;
}
