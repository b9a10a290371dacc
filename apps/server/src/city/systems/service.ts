import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable, QueryRunner } from "../../storage/db/database.ts";
import { giveOwnShard } from "../../storage/distribution/own-shard.ts";
import {
  type SystemDetails,
  systemDetails,
  factNames,
  type FactName,
  type FactOrigin,
  factOrigins,
  factRules,
} from "./facts.rules.ts";
import { insertSystem, listSystems, type SystemRow, findFacts, listFacts, lockFacts, updateFacts } from "./queries.ts";
import { saidBySources } from "./said.ts";

export type { SystemRow } from "./queries.ts";

/**
 * Makes a system, as an act of somebody, with a shard of its own where the database is distributed.
 * @returns false when there is one with this id already
 */
export async function addSystem(context: ActorContext, systemId: string, name: string): Promise<boolean> {
  const isMade = await context.db.transaction(async (tx) => {
    if (!(await createSystem(tx, systemId, name, context.clock()))) return false;
    await insertActOf(context, tx, { systemId, action: "system.created", subject: systemId, detail: { name } });
    return true;
  });
  if (isMade) await giveOwnShard(context.db, systemId);
  return isMade;
}

/** Makes a system. @returns false when there is one with this id already */
export function createSystem(db: Queryable, systemId: string, name: string, now: number): Promise<boolean> {
  return insertSystem(db, { system_id: systemId, name, created_at: new Date(now) });
}

/** Every system, oldest first. */
export function systemsOf(db: Queryable): Promise<SystemRow[]> {
  return listSystems(db);
}

/**
 * Returns the system that a command works on. With one system nobody has to name it; with none, the first is made, called
 * `firstId`.
 * @throws Error when the named one does not exist, or when there are several and none is named
 */
export async function resolveSystem(
  context: ActorContext,
  named: string | undefined,
  firstId: string,
): Promise<string> {
  const systems = await listSystems(context.db);
  const ids = systems.map((system) => system.system_id);
  if (named !== undefined) {
    if (ids.includes(named)) return named;
    throw commandError("not_found", "systemOption", { id: named, ids: ids.join(", ") || "none" });
  }
  const [only, ...others] = ids;
  if (only === undefined) {
    await addSystem(context, firstId, firstId);
    return firstId;
  }
  if (others.length > 0) throw commandError("conflict", "severalSystems", { ids: ids.join(", ") });
  return only;
}

export type { SystemDetails } from "./facts.rules.ts";

/** Changes to a system's facts. Null removes the operator's value; omitted facts stay as they are. */
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
    await insertActOf(context, tx, { systemId, action: "system.described", subject: systemId, detail: read });
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

/**
 * Returns a system's facts: the operator's value, else a source's, else a default; undefined when there is no such system.
 */
export async function detailsOf(db: Queryable, systemId: string): Promise<SystemDetails | undefined> {
  const own = await findFacts(db, systemId);
  return own && systemDetails(own, await saidBySources(db, systemId));
}

/** Returns the language of a system's texts that have no other: the operator's word, else a source's, else a default. */
export async function mainLanguageOf(db: QueryRunner, systemId: string): Promise<string> {
  const own = await findFacts(db, systemId);
  return own === undefined ? "en" : systemDetails(own, await saidBySources(db, systemId)).language;
}

/** Every fact of a system with who says it; undefined without such a system. */
export async function originsOf(
  db: Queryable,
  systemId: string,
): Promise<Readonly<Record<FactName, FactOrigin>> | undefined> {
  const own = await findFacts(db, systemId);
  return own && factOrigins(own, await saidBySources(db, systemId));
}

/** Returns the facts of every system, oldest system first. */
export async function detailsOfAll(db: Queryable): Promise<SystemDetails[]> {
  const details: SystemDetails[] = [];
  for (const own of await listFacts(db)) details.push(systemDetails(own, await saidBySources(db, own.system_id)));
  return details;
}

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
