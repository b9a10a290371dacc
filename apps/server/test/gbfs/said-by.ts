import { updateDescriptions } from "../../src/feeds/gbfs/queries.ts";
import type { SourceDescription } from "../../src/feeds/gbfs/source-descriptions.ts";
import type { Queryable } from "../../src/storage/db/database.ts";

/** Stores the facts that a source gives about its system, as an import of its feeds does. */
export async function saidBy(db: Queryable, systemId: string, { feed, content }: SourceDescription): Promise<void> {
  const json = JSON.stringify(content);
  const description = { feed, json, digest: json, at: Date.UTC(2026, 0, 1) };
  await db.transaction((tx) => updateDescriptions(tx, systemId, "feed", [description]));
}
