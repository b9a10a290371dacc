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

/** Milliseconds that a start has to end in order once it is told to stop. One that hangs must not need a second signal. */
const START_MS = 10_000;

/**
 * Starts something that is told to stop meanwhile: it is ready first, and then stops in order, unless that takes too long.
 * Our own PostgreSQL ends by itself then.
 */
export async function startUnlessStopped<Started>(
  stopped: Promise<void>,
  exit: (status: number) => void,
  start: () => Promise<Started>,
): Promise<Started> {
  let isReady = false;
  stopped.then(
    () => setTimeout(() => isReady || exit(1), START_MS).unref(),
    () => undefined,
  );
  try {
    return await start();
  } finally {
    isReady = true;
  }
}
