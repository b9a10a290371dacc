/** The wish that a long-running command stops. */
export interface Signals {
  /** Settles when the process is told to stop. */
  readonly untilStopped: () => Promise<void>;
}

/** What of the process is needed here. */
interface SignalSource {
  on(signal: "SIGTERM" | "SIGINT" | "SIGHUP", listener: () => void): unknown;
  exit(status: number): void;
}

/**
 * SIGTERM, SIGINT, SIGHUP and the end of what launched us stop gently. A second SIGTERM or SIGINT, of somebody impatient,
 * stops at once. A SIGHUP is never that second one: a terminal that closes, and some supervisors, send it beside another.
 * @param watchLauncher calls back when the package manager that launched us is gone; gives how to end the watch
 */
export function createSignals(source: SignalSource, watchLauncher: (onGone: () => void) => () => void): Signals {
  return {
    untilStopped: () =>
      new Promise((resolve) => {
        let isStopping = false;
        const stop = () => {
          isStopping = true;
          endWatch();
          resolve();
        };
        const endWatch = watchLauncher(stop);
        for (const signal of ["SIGTERM", "SIGINT"] as const) {
          source.on(signal, () => (isStopping ? source.exit(1) : stop()));
        }
        source.on("SIGHUP", stop);
      }),
  };
}
