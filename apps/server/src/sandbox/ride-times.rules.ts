/** How long rides of sandboxes last. */
const DURATION = { leastMs: 3 * 60_000, mostMs: 11 * 60_000 };
/** Of the hash of an id. A prime, so that the hashes of similar ids differ. */
const MODULUS = 65_521;

/** Returns when a ride of a sandbox ends. The time is computed from the ride's id, so that nothing must be stored. */
export function endOfRide({ id, started_at: startedAt }: { readonly id: string; readonly started_at: Date }): number {
  // A hash of the id.
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (hash * 31 + id.charCodeAt(at)) % MODULUS;
  return startedAt.getTime() + DURATION.leastMs + Math.round((hash / MODULUS) * (DURATION.mostMs - DURATION.leastMs));
}
