/** Milliseconds since 1970. */
export type Clock = () => number;

/** A clock that a test may move. */
export interface MovableClock {
  readonly now: Clock;
  /** Moves it forward by milliseconds. Time never goes back: a service's does not either. */
  advance(ms: number): void;
}

/** The machine's own clock. */
// oxlint-disable-next-line eslint/no-restricted-properties -- whoever installs a library has no main.ts that hands one in
const systemClock: Clock = () => Date.now();

/** @throws RangeError from `advance`, for what is no number of milliseconds */
export function createClock(base: Clock = systemClock): MovableClock {
  let moved = 0;
  return {
    now: () => base() + moved,
    advance(ms) {
      if (!(ms >= 0 && ms < Infinity)) throw new RangeError("advance takes milliseconds, 0 or more");
      moved += ms;
    },
  };
}

/** An instant as it stands on the wire. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}
