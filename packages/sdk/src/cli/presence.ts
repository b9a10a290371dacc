/** Milliseconds between two looks whether somebody listens by now; they double from the first to the longest. */
const FIRST_LOOK_MS = 1_000;
const LONGEST_LOOK_MS = 10_000;

/** Whether somebody listens where deliveries go. */
export interface Presence {
  /**
   * Whether a delivery may go. Where nobody listened, one goes alone and looks.
   *
   * @param now milliseconds since 1970
   * @param open how many are on their way
   */
  mayGo(now: number, open: number): boolean;
  /** Nobody listened. Gives the milliseconds until the next look, the first time for each: those that went together are one. */
  missed(now: number): number | undefined;
  /** Somebody listened. */
  seen(): void;
}

/** @param onMissed told when nobody listens any more */
export function createPresence(onMissed: () => void): Presence {
  let misses = 0;
  let lookAt = 0;
  return {
    mayGo: (now, open) => misses === 0 || (open === 0 && now >= lookAt),
    missed(now) {
      if (misses === 0) onMissed();
      else if (now < lookAt) return undefined;
      const ms = Math.min(LONGEST_LOOK_MS, FIRST_LOOK_MS * 2 ** misses++);
      lookAt = now + ms;
      return ms;
    },
    seen: () => void (misses = 0),
  };
}
