import type { Queryable } from "./db/database.ts";
import type { Ids } from "./ids.ts";

/** What the verbs that change the live system need. With a transaction as `db` they join it. */
export interface CommandContext {
  readonly db: Queryable;
  readonly clock: () => number;
  readonly ids: Ids;
}
