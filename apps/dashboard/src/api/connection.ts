/** Tracks whether the server can be reached. While it cannot, the pages show a notice and this module probes the server. */
import { useEffect, useState } from "preact/hooks";

/**
 * Milliseconds between two probes of an unreachable server. Too high: the page seems broken after the server has recovered.
 */
const PROBE_INTERVAL_MS = 2_000;
/** Milliseconds after which a probe counts as failed. Too low: a slow connection counts as lost. */
const PROBE_TIMEOUT_MS = 10_000;
/** Answers with a success if the service runs and reaches its database. */
const PROBE_PATH = "/readyz";

/** Knows whether the server can be reached. */
export interface Connection {
  /** Reports whether a request has reached the server. */
  report(isReached: boolean): void;
  /** Probes the server now, because something could not be loaded, or a response leaves open whether it can be reached. */
  check(): void;
  readonly isLost: () => boolean;
  subscribe(listener: () => void): () => void;
}

/** @param onRecovered called when the server can be reached again, to refresh the shown data */
export function createConnection(onRecovered: () => void): Connection {
  /** The timer of the probes. It runs exactly while the connection is lost. */
  let probes: ReturnType<typeof setInterval> | undefined;
  let isProbing = false;
  /** The number of reports so far. */
  let reports = 0;
  const listeners = new Set<() => void>();
  const report = (isReached: boolean) => {
    reports++;
    const wasReached = probes === undefined;
    if (isReached === wasReached) return;
    clearInterval(probes);
    probes = isReached ? undefined : setInterval(probeOnce, PROBE_INTERVAL_MS);
    for (const listener of listeners) listener();
    if (isReached) onRecovered();
  };
  const probeOnce = () => {
    if (isProbing) return;
    isProbing = true;
    const before = reports;
    fetch(PROBE_PATH, { cache: "no-store", signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
      .then(
        (response) => report(response.ok),
        // A probe may fail long after it was sent. A request that was answered or failed meanwhile knows the newer state.
        () => reports === before && report(false),
      )
      .finally(() => (isProbing = false));
  };
  return {
    report,
    check: probeOnce,
    isLost: () => probes !== undefined,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Tells whether the connection is lost, for a component that shows it. */
export function useIsLost(connection: Connection): boolean {
  const [isLost, setLost] = useState(connection.isLost);
  useEffect(() => {
    const update = () => setLost(connection.isLost());
    // The state may have changed since the first render.
    update();
    return connection.subscribe(update);
  }, [connection]);
  return isLost;
}
