import { setImmediate, setTimeout } from "node:timers/promises";

/**
 * Waits below this time spin the event loop, because timers are exact to a millisecond only. Too low: requests start
 * late. Too high: takes processor time from a server on the same machine (1 ms takes a fifth of a core at 200 requests
 * a second).
 */
const SPIN_MS = 0.5;

/**
 * Calls `start` at each time, or as soon after it as the thread is free. It leaves out no time, and does not wait for
 * the answers of earlier requests (an open loop).
 * @param times milliseconds from `startAt`, ascending
 * @param startAt on the monotonic clock of this thread
 */
export async function runOpenLoop(
  times: Iterable<number>,
  startAt: number,
  start: (intendedAt: number) => void,
): Promise<void> {
  for (const time of times) {
    const intendedAt = startAt + time;
    for (let wait = intendedAt - performance.now(); wait > 0; wait = intendedAt - performance.now()) {
      await (wait > SPIN_MS ? setTimeout(Math.max(1, Math.round(wait))) : setImmediate());
    }
    start(intendedAt);
  }
}
