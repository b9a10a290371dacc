/** The first pause is at most this. Lower strains a service that is just coming back; higher makes a hiccup felt. */
const FIRST_PAUSE_MS = 500;
/** No pause is longer, unless the service asks for it. */
const LONGEST_PAUSE_MS = 8_000;
/** Callers who are told the same second must not all come back in the same instant. */
const SPREAD_MS = 250;

/**
 * Milliseconds to wait before sending again. What the service asks for comes first; without that, anything up to a
 * bound that doubles each time, so that callers who failed together do not come back together.
 *
 * @param attempts how often it was sent
 * @param random from 0 up to 1
 */
export function pauseAfter(attempts: number, retryAfterMs: number | undefined, random: number): number {
  if (retryAfterMs !== undefined) return retryAfterMs + random * SPREAD_MS;
  return random * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1));
}
