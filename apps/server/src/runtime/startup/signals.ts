/** The signals that tell a long-running command to stop. */
export interface Signals {
  /** Resolves when the process is told to stop. */
  readonly untilStopped: () => Promise<void>;
}

export interface SignalsOptions {
  /** The part of `process` that is needed here. */
  readonly source: {
    on(signal: "SIGTERM" | "SIGINT" | "SIGHUP", listener: () => void): unknown;
    exit(status: number): void;
  };
  /** Calls back when the package manager that launched the process is gone. @returns ends the watch */
  readonly watchLauncher: (onGone: () => void) => () => void;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/**
 * A second signal within this time is the first one, delivered twice: a terminal signals the whole process group, and a
 * launcher such as `node --watch` passes its copy on.
 */
const SAME_SIGNAL_MS = 500;

/**
 * Stops gracefully on SIGTERM, SIGINT, SIGHUP and the end of the launcher, and at once on a second SIGTERM or SIGINT. A
 * SIGHUP never counts as the second signal: a terminal that closes, and some supervisors, send it beside another one.
 */
export function createSignals({ source, watchLauncher, monotonic }: SignalsOptions): Signals {
  return {
    untilStopped: () =>
      new Promise((resolve) => {
        let stoppingSince: number | undefined;
        const stop = () => {
          stoppingSince ??= monotonic();
          endWatch();
          resolve();
        };
        const endWatch = watchLauncher(stop);
        for (const signal of ["SIGTERM", "SIGINT"] as const) {
          source.on(signal, () => {
            if (stoppingSince === undefined) stop();
            else if (monotonic() - stoppingSince >= SAME_SIGNAL_MS) source.exit(1);
          });
        }
        source.on("SIGHUP", stop);
      }),
  };
}

/** How long a process may take to stop when a part of it hangs: longer than requests may take to end. */
const HUNG_STOP_TIMEOUT_MS = 30_000;

/**
 * Lets a process stop in order because a part of it hangs, and kills it when that part keeps it from doing so.
 * @param stopTimeoutMs for stopping in order
 */
export function createHangStop(kill: () => void, stopTimeoutMs = HUNG_STOP_TIMEOUT_MS) {
  const hung = Promise.withResolvers<void>();
  return {
    untilHung: hung.promise,
    onHang: () => {
      setTimeout(kill, stopTimeoutMs).unref();
      hung.resolve();
    },
  };
}

/** Ends this process at once. `process.exit` waits for file operations, and so for ever where a file system hangs. */
export function killThisProcess(): void {
  process.kill(process.pid, "SIGKILL");
}

/** How long a start that is told to stop may take to finish starting. A start that hangs must not need a second signal. */
const START_TIMEOUT_MS = 10_000;

/**
 * Starts something that may be told to stop meanwhile. It finishes starting and then stops in order, unless starting takes
 * too long; an embedded PostgreSQL stops by itself then.
 */
export async function startUnlessStopped<Started>(
  stopped: Promise<void>,
  exit: (status: number) => void,
  start: () => Promise<Started>,
): Promise<Started> {
  let isReady = false;
  stopped.then(
    () => setTimeout(() => isReady || exit(1), START_TIMEOUT_MS).unref(),
    () => undefined,
  );
  try {
    return await start();
  } finally {
    isReady = true;
  }
}
