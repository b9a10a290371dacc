import type { Lane } from "./lane.ts";

/** The one delivery that a process tries although it may end the process. */
export interface SuspectSlot {
  isTaken(): boolean;
  take(lane: Lane, deliveryId: string): void;
}

/** A slot is free again once its delivery's result is written, or its claim released: then a crash is no longer its doing. */
export function createSuspectSlot(): SuspectSlot {
  let current: { readonly lane: Lane; readonly deliveryId: string } | undefined;
  return {
    isTaken: () => current?.lane.unwritten.has(current.deliveryId) ?? false,
    take: (lane, deliveryId) => void (current = { lane, deliveryId }),
  };
}
