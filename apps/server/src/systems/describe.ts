import { recordActOf } from "../audit/audit-log.ts";
import type { ActorContext } from "../command-context.ts";
import type { Queryable } from "../db/database.ts";
import { commandError } from "../errors/command-errors.ts";
import { listDescriptions } from "../feeds/gbfs/source-descriptions.ts";
import { type SystemDetails, systemDetails } from "./details.rules.ts";
import { findFacts, listFacts, lockFacts, updateFacts } from "./fact-queries.ts";
import { factNames, type FactName, factRules } from "./facts.rules.ts";

export type { SystemDetails } from "./details.rules.ts";

/** What is to be said of a system; null takes the operator's word back. What is left out stays as it is. */
export type FactChanges = { readonly [Name in FactName]?: string | null | undefined };

/**
 * Notes what the operator says of a system. It goes before what sources say.
 * @throws ServiceError `invalid_parameter` for a word that means nothing, `not_found` without such a system
 */
export function describeSystem(context: ActorContext, systemId: string, changes: FactChanges): Promise<void> {
  return context.db.transaction(async (tx) => {
    const held = await lockFacts(tx, systemId);
    if (held === undefined) throw commandError("not_found", "system", { id: systemId });
    const given = factNames.filter((name) => changes[name] !== undefined);
    const read = Object.fromEntries(given.map((name) => [name, readFact(name, changes[name] ?? null)]));
    await updateFacts(tx, { ...held, ...read });
    await recordActOf(context, tx, { systemId, action: "system.described", subject: systemId, detail: read });
  });
}

function readFact(name: FactName, text: string | null): string | null {
  if (text === null) return null;
  const { read, expected } = factRules[name];
  const value = read(text);
  if (value === undefined) {
    throw commandError("invalid_parameter", "fact", { name, value: JSON.stringify(text), expected });
  }
  return value;
}

export async function hasSystem(db: Queryable, systemId: string): Promise<boolean> {
  return (await findFacts(db, systemId)) !== undefined;
}

/** What holds of a system: the operator's word, else a source's, else a default; undefined without such a system. */
export async function detailsOf(db: Queryable, systemId: string): Promise<SystemDetails | undefined> {
  const own = await findFacts(db, systemId);
  return own && systemDetails(own, await listDescriptions(db, systemId));
}

/** What holds of every system, oldest first. */
export async function detailsOfAll(db: Queryable): Promise<SystemDetails[]> {
  const details: SystemDetails[] = [];
  for (const own of await listFacts(db)) details.push(systemDetails(own, await listDescriptions(db, own.system_id)));
  return details;
}
