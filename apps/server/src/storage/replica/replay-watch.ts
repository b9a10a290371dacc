import { setTimeout as sleep } from "node:timers/promises";
import type { ReplayedPosition, WrittenPosition } from "./queries.ts";
import { judge } from "./replica.rules.ts";

/** Knows how far a replica has replayed, from what one connection to it said last. */
export interface ReplayWatch {
  /** Whether it has replayed a position, at once or within a time. Calls that wait at the same time share statements. */
  reach(position: WrittenPosition, timeoutMs: number): boolean | Promise<boolean>;
  /** What it said last. */
  readonly last: () => ReplayedPosition | undefined;
  /** The connection broke: the next one may lead to another server. */
  forget(): void;
}

/** Replicas close by replay a commit within a millisecond or two. */
const RETRY_INTERVAL_MS = 1;

interface Waiter {
  readonly position: WrittenPosition;
  readonly decide: (hasReached: boolean) => void;
}

/**
 * @param ask how far it has replayed
 * @param onFailed hears why it could not be asked; nothing has been reached then
 */
export function createReplayWatch(
  ask: () => Promise<ReplayedPosition>,
  onFailed: (error: unknown) => void,
): ReplayWatch {
  let last: ReplayedPosition | undefined;
  const waiters = new Set<Waiter>();
  let isAsking = false;

  const hasReached = (position: WrittenPosition) => last !== undefined && judge(last, position) === "current";

  async function askWhileAwaited(): Promise<void> {
    try {
      while (waiters.size > 0) {
        last = await ask();
        for (const { position, decide } of waiters) if (hasReached(position)) decide(true);
        if (waiters.size > 0) await sleep(RETRY_INTERVAL_MS);
      }
    } catch (error) {
      onFailed(error);
      for (const { decide } of waiters) decide(false);
    } finally {
      isAsking = false;
    }
  }
  /** It never fails: what does is heard of by `onFailed`. */
  const begin = () => {
    if (isAsking) return;
    isAsking = true;
    askWhileAwaited().catch(onFailed);
  };
  return {
    reach(position, timeoutMs) {
      if (hasReached(position)) return true;
      return new Promise((resolve) => {
        const timer = setTimeout(() => waiter.decide(false), timeoutMs);
        const waiter: Waiter = {
          position,
          decide: (reached) => {
            clearTimeout(timer);
            waiters.delete(waiter);
            resolve(reached);
          },
        };
        waiters.add(waiter);
        begin();
      });
    },
    last: () => last,
    forget: () => void (last = undefined),
  };
}
