import type { ChangeState, FollowedTable, Horizon } from "./queries.ts";

/** The state of a list's changes, read before the list's rows. Positions are microseconds since 1970. */
export interface Standing extends Omit<Horizon, "isUncertain">, Omit<ChangeState, "resets" | "hasPrepared"> {
  /** Open transactions may still commit changes at unknown positions. */
  readonly isUncertain: boolean;
}

/** From which position a walk goes on that has seen everything before it, and in which history of writes. */
export interface Checkpoint {
  readonly since: number;
  readonly history: string;
}

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

/** Days for which it is kept that a bike was removed. Bikes are a few pages: who comes back later reads them anew. */
export const REMOVED_BIKES_KEPT_DAYS = 7;

/**
 * Returns the position from which the next walk goes on, so that it finds every change that this one does not see.
 *
 * The newest change is as good as the horizon where it lies before: nothing lies between. So the checkpoint of a list in which
 * nothing changes stays, and with it the answer's ETag. After a day it moves on, once an hour, so that it does not become too
 * old to be answered.
 * @param previous from which position this walk began; undefined for one that does not go by changes
 */
export function nextSince({ position, newest, isUncertain }: Standing, previous = 0): number {
  if (isUncertain) return previous;
  const dayAgo = Math.floor((position - DAY_US) / HOUR_US) * HOUR_US;
  return Math.max(previous, Math.min(position, Math.max((newest ?? 0) + 1, dayAgo)));
}

/** Returns why changes since a checkpoint may be missing; undefined when none are. */
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
