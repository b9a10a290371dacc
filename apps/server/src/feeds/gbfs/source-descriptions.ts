import type { Queryable } from "../../db/database.ts";
import { findDescriptions, type SourceDescription } from "./queries.ts";

export type { SourceDescription } from "./queries.ts";

/** What a system's sources say of it as a whole: of the system, its vehicle types and its regions. */
export function sourceDescriptions(db: Queryable, systemId: string): Promise<SourceDescription[]> {
  return findDescriptions(db, systemId);
}
