import { MAX_SUSPECTS_TOGETHER } from "../rules/retry-policy.ts";
import type { Lane } from "./lane.ts";

/** The deliveries that a process tries although they may end the process. */
export interface SuspectSlots {
  /** How many more may be tried together; none while one is tried alone. */
  free(): number;
  /** Whether none is tried, so that one may be tried alone. */
  isEmpty(): boolean;
  take(lane: Lane, deliveryIds: readonly string[], isAlone: boolean): void;
}

/** A slot is free again once its delivery's result is written, or its claim released: then a crash is no longer its doing. */
export function createSuspectSlots(): SuspectSlots {
  let tried: { readonly lane: Lane; readonly deliveryId: string; readonly isAlone: boolean }[] = [];
  const remaining = () => (tried = tried.filter(({ lane, deliveryId }) => lane.unwritten.has(deliveryId)));
  return {
    free: () => (remaining().some(({ isAlone }) => isAlone) ? 0 : MAX_SUSPECTS_TOGETHER - tried.length),
    isEmpty: () => remaining().length === 0,
    take(lane, deliveryIds, isAlone) {
      for (const deliveryId of deliveryIds) tried.push({ lane, deliveryId, isAlone });
    },
  };
}
