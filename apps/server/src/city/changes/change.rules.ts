import type { ChangeState, FollowedTable, Horizon } from "./queries.ts";

/**
 * The state of a list's changes, read before the list's rows. Positions are microseconds since 1970. `position` is the
 * horizon: every change before it is committed and visible, or never will be.
 */
export interface Standing extends Omit<Horizon, "isUncertain">, Omit<ChangeState, "resets" | "hasPrepared"> {
  /** Whether open transactions may still commit changes at unknown positions. */
  readonly isUncertain: boolean;
}

/** The position from which a client continues, having seen every earlier change, and the history of writes it belongs to. */
export interface Checkpoint {
  readonly since: number;
  readonly history: string;
}

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

/**
 * Days for which the records of removed bikes are kept. A client that comes back later reads all bikes again, which are only
 * a few pages.
 */
export const REMOVED_BIKES_KEPT_DAYS = 7;

/**
 * Returns the position from which a client's next walk (its reading of a list, page after page) continues, so that it
 * finds every change that this walk does not see.
 *
 * If the newest change is before the horizon, that is just after the change, because nothing lies between the two. So the
 * checkpoint of a list without changes stays the same, and with it the response's ETag. When the newest change is a day
 * old, the position moves on once an hour, so that the checkpoint does not become too old to be accepted.
 * @param previous the position at which this walk began; left out for a walk that does not read changes. Returned as it is
 *   while `isUncertain`
 */
export function nextSince({ position, newest, isUncertain }: Standing, previous = 0): number {
  if (isUncertain) return previous;
  const afterNewest = (newest ?? 0) + 1;
  const dayAgo = Math.floor((position - DAY_US) / HOUR_US) * HOUR_US;
  const next = Math.min(position, Math.max(afterNewest, dayAgo));
  return Math.max(previous, next);
}

/**
 * Returns why changes since a checkpoint may be missing; undefined when none are. `replaced`: the history of writes is
 * another, as after a restore. `clock`: the checkpoint is ahead of the database's clock. `old`: records of removed bikes
 * may be deleted already.
 */
export function lossOf(
  table: FollowedTable,
  { since, history }: Checkpoint,
  standing: Standing,
): "replaced" | "clock" | "old" | undefined {
  if (history !== standing.history) return "replaced";
  if (since > standing.now) return "clock";
  const isTooOld = table === "bikes" && since < standing.now - REMOVED_BIKES_KEPT_DAYS * DAY_US;
  return isTooOld ? "old" : undefined;
}

const CHECKPOINT = /^(\d{1,16}) (\S+)$/;

/** A checkpoint as text, which is encrypted before anybody sees it. */
export const checkpointText = {
  encode: ({ since, history }: Checkpoint): string => `${since} ${history}`,
  decode(text: string): Checkpoint | undefined {
    const [, since, history] = CHECKPOINT.exec(text) ?? [];
    return since === undefined || history === undefined ? undefined : { since: Number(since), history };
  },
};
