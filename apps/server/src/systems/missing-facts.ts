import type { Queryable } from "../db/database.ts";
import { detailsOfAll } from "./describe.ts";

interface Warn {
  warn(fields: object, message: string): void;
}

/** Warns, once for each system, of what GBFS asks for and nobody has said: readers are told defaults until then. */
export async function warnOfMissingFacts(db: Queryable, logger: Warn): Promise<void> {
  for (const { id, missing } of await detailsOfAll(db)) {
    if (missing.length === 0) continue;
    logger.warn(
      { system: id, missing },
      "GBFS gives defaults for what nobody has said of this system: see `bikeshare systems list`, say it with `bikeshare systems set`",
    );
  }
}
