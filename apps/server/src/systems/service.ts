import { recordActOf } from "../audit/audit-log.ts";
import type { ActorContext } from "../command-context.ts";
import type { Queryable } from "../db/database.ts";
import { commandError } from "../errors/command-errors.ts";
import { insertSystem, listSystems, type SystemRow } from "./queries.ts";

export type { SystemRow } from "./queries.ts";

/** Makes a system, as an act of somebody. @returns false when there is one with this id already */
export function addSystem(context: ActorContext, systemId: string, name: string): Promise<boolean> {
  return context.db.transaction(async (tx) => {
    if (!(await createSystem(tx, systemId, name, context.clock()))) return false;
    await recordActOf(context, tx, { systemId, action: "system.created", subject: systemId, detail: { name } });
    return true;
  });
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
 * The system that a command works on. With one system nobody has to name it; with none, the first is made, called
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
