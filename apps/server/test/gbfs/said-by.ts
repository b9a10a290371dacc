import { updateDescriptions, type SourceDescription } from "../../src/feeds/gbfs/queries.ts";
import type { Queryable } from "../../src/storage/db/database.ts";

/** Keeps what a source says of its system, as an import of its feeds does. */
export function saidBy(db: Queryable, systemId: string, description: SourceDescription): Promise<void> {
  return db.transaction((tx) =>
    updateDescriptions(tx, systemId, "feed", [{ ...description, at: Date.UTC(2026, 0, 1) }]),
  );
}
