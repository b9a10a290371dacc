/** Milliseconds since 1970. */
export type Clock = () => number;

/** The machine's own clock. */
// oxlint-disable-next-line eslint/no-restricted-properties -- whoever installs a library has no main.ts that hands one in
export const systemClock: Clock = () => Date.now();
