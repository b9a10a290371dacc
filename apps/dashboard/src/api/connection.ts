/** Tracks whether the server can be reached. While it cannot, the pages show a notice and this module probes the server. */
import { useEffect, useState } from "preact/hooks";

/**
 * Milliseconds between two probes of an unreachable server. Too high: the page seems broken after the server has recovered.
 */
const PROBE_INTERVAL_MS = 2_000;
/** The probe uses only whether this path answers with a success. */
const PROBE_PATH = "/healthz";

/** Knows whether the server can be reached. */
export interface Connection {
  /** Reports whether a request has reached the server. */
  report(isReached: boolean): void;
  /** Probes the server now, because something could not be loaded. */
  check(): void;
  readonly isLost: () => boolean;
  subscribe(listener: () => void): () => void;
}

/** @param onRecovered called when the server can be reached again, to refresh the shown data */
export function createConnection(onRecovered: () => void): Connection {
  let probe: ReturnType<typeof setInterval> | undefined;
  const listeners = new Set<() => void>();
  const report = (isReached: boolean) => {
    // A probe runs exactly while the connection is lost, so this report changes nothing.
    if (isReached === (probe === undefined)) return;
    clearInterval(probe);
    probe = isReached ? undefined : setInterval(probeOnce, PROBE_INTERVAL_MS);
    for (const listener of listeners) listener();
    if (isReached) onRecovered();
  };
  const probeOnce = () => {
    fetch(PROBE_PATH, { cache: "no-store" }).then(
      (response) => report(response.ok),
      () => report(false),
    );
  };
  return {
    report,
    check: probeOnce,
    isLost: () => probe !== undefined,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Tells whether the connection is lost, for a component that shows it. */
export function useIsLost(connection: Connection): boolean {
  const [isLost, setLost] = useState(connection.isLost);
  useEffect(() => connection.subscribe(() => setLost(connection.isLost())), [connection]);
  return isLost;
}
