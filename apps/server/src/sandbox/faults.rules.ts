import type { SandboxFault, SandboxFaultRequest } from "@bikeshare/contract/sandbox";

/** Duration of an API fault whose request gives no end, so that a fault that a test forgets ends by itself. */
const DEFAULT_MS = 3_600_000;

/** Returns a new API fault for a request, with defaults filled in. */
export function newFault({ route, status, share, count, until }: SandboxFaultRequest, now: number): SandboxFault {
  const end = until === undefined ? now + DEFAULT_MS : Date.parse(until);
  return { route: route ?? null, status, share, count: count ?? null, until: new Date(end).toISOString() };
}

/**
 * Returns the API faults that have not ended: by time, or by the count of requests that they still affect (null: any).
 */
export function lastingFaults(faults: readonly SandboxFault[], now: number): SandboxFault[] {
  return faults.filter(({ until, count }) => Date.parse(until) > now && count !== 0);
}

/**
 * Returns a fault of the API or of deliveries that ends `seconds` sooner, but not before now. Only faults of deliveries may
 * have no end (`until`); those are returned unchanged.
 */
export function endingSooner<Fault extends { readonly until?: string | undefined }>(
  fault: Fault,
  now: number,
  seconds: number,
): Fault {
  const { until } = fault;
  if (until === undefined) return fault;
  return { ...fault, until: new Date(Math.max(now, Date.parse(until) - seconds * 1000)).toISOString() };
}

/**
 * Returns the fault that a request meets, and the faults as they are afterwards, with their counts reduced.
 * @param route such as `GET /v1/stations/:id`
 * @param chance a random number from 0 up to 1, which decides whether a fault with a share applies
 */
export function meetFault(
  faults: readonly SandboxFault[],
  route: string,
  { now, chance }: { readonly now: number; readonly chance: number },
): { readonly met: SandboxFault | undefined; readonly left: SandboxFault[] } {
  const lasting = lastingFaults(faults, now);
  const met = lasting.find((fault) => (fault.route === null || fault.route === route) && chance < fault.share);
  const after = lasting.map((fault) =>
    fault === met && fault.count !== null ? { ...fault, count: fault.count - 1 } : fault,
  );
  return { met, left: lastingFaults(after, now) };
}
