/** How long rides of sandboxes last. */
const DURATION = { leastMs: 3 * 60_000, mostMs: 11 * 60_000 };

/** Returns when a ride of a sandbox ends. The time is computed from the ride's id, so that nothing must be stored. */
export function endOfRide({ id, started_at: startedAt }: { readonly id: string; readonly started_at: Date }): number {
  let sum = 0;
  for (let at = 0; at < id.length; at++) sum = (sum * 31 + id.charCodeAt(at)) % 65_521;
  return startedAt.getTime() + DURATION.leastMs + Math.round((sum / 65_521) * (DURATION.mostMs - DURATION.leastMs));
}
