import type { ActorContext } from "../../command-context.ts";
import { commandError } from "../../command-errors.ts";
import { insertActOf } from "../../partners/audit/queries.ts";
import type { Queryable } from "../db/database.ts";
import { countWorkFailures, listWorkFailures, updateReleased, type WorkFailure } from "./queries.ts";

/** The most units to show. More failed units usually have one cause, which the first ones show. */
const SHOWN = 1_000;

/** A unit of background work that fails, or is set aside because it ended several processes. */
export interface SetAsideUnit extends Pick<WorkFailure, "work" | "unit" | "failures" | "crashes" | "message"> {
  readonly since: Date;
  /** When it is tried again; null: not before it is released. */
  readonly next_try_at: Date | null;
}

/** Returns the units of background work that fail or are set aside, ordered by the time of their first failure. */
export async function setAsideUnits(db: Queryable, systemId: string): Promise<SetAsideUnit[]> {
  const rows = await listWorkFailures(db, systemId, SHOWN);
  return rows.map(({ began_at: since, due_at: nextTryAt, ...unit }) => ({ ...unit, since, next_try_at: nextTryAt }));
}

/** How many units are set aside, and how many fail and are tried again. */
interface FailingWork {
  readonly setAside: number;
  readonly failing: number;
}

/** Returns how many units of a system's background work are set aside, and how many fail. */
export async function failingWorkOf(db: Queryable, systemId: string): Promise<FailingWork> {
  const { set_aside: setAside, failing } = await countWorkFailures(db, systemId);
  return { setAside, failing };
}

/**
 * Makes background work be tried again within seconds, as if it had not failed before.
 * @param unit undefined: all units of the system
 * @returns the released units
 * @throws ServiceError when the unit neither fails nor is set aside
 */
export async function releaseUnits(
  context: ActorContext,
  systemId: string,
  unit: string | undefined,
): Promise<Pick<WorkFailure, "work" | "unit">[]> {
  return context.db.transaction(async (tx) => {
    const released = await updateReleased(tx, systemId, unit ?? null);
    if (released.length === 0 && unit !== undefined) throw commandError("not_found", "setAside", { id: unit });
    for (const { work, unit: subject } of released) {
      await insertActOf(context, tx, { systemId, action: "work.released", subject, detail: { work } });
    }
    return released;
  });
}
