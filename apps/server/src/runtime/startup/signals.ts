import { readFileSync } from "node:fs";

/* How a long-running command learns that it must stop: by signals, by the end of its launcher, or because it hangs. */

/** The process table of this machine. */
export interface Processes {
  /** Returns the parent of a process; undefined: there is no such process. */
  parentOf(pid: number): number | undefined;
  /** Tells whether a package manager (npm, npx, pnpm, yarn) is among the ancestors of a process. */
  isLaunched(pid: number): boolean;
  /** Tells whether a process leads a session, as daemons and programs started by `setsid` do. */
  leadsSession(pid: number): boolean;
}

/** A process and its parent, in the chain from this process up to the package manager that the user called. */
interface ParentLink {
  readonly child: number;
  readonly parent: number;
}

/** Milliseconds between two looks at the chain. Each is a few reads of /proc. */
const POLL_INTERVAL_MS = 1_000;

/**
 * Detects that the package manager that started the service has ended. `npx pnpm start` is a chain of processes (npx, pnpm,
 * sh, node). A person who ends npx means the service, but a signal to npx does not reach the other processes. A service that
 * was started without a package manager has no such chain and outlives its parent, so `nohup`, `setsid`, systemd and a
 * shell's `&` work as usual. Works on Linux only; elsewhere it never calls `onGone`.
 * @returns a function that ends the watch
 */
export function watchLauncher(onGone: () => void): () => void {
  const chain = process.platform === "linux" ? ancestorsOf(linuxProcesses, process.pid) : [];
  if (chain.length === 0) return () => undefined;
  const timer = setInterval(() => {
    if (!isBroken(linuxProcesses, chain)) return;
    clearInterval(timer);
    onGone();
  }, POLL_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Returns the chain from a process up to the topmost package manager; empty if there is none. */
export function ancestorsOf(processes: Processes, pid: number): ParentLink[] {
  const chain: ParentLink[] = [];
  let child = pid;
  while (processes.isLaunched(child) && !processes.leadsSession(child)) {
    const parent = processes.parentOf(child);
    // Process 1 is the system's init. 0: the parent is outside this container.
    if (parent === undefined || parent <= 1) return chain;
    chain.push({ child, parent });
    child = parent;
  }
  return chain;
}

/** Tells whether a process of the chain has ended: the operating system then gives its children another parent. */
export function isBroken(processes: Processes, chain: readonly ParentLink[]): boolean {
  return chain.some(({ child, parent }) => processes.parentOf(child) !== parent);
}

/** Returns the fields of /proc/<pid>/stat after the name, which may contain spaces: state, parent, group, session, … */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

const linuxProcesses: Processes = {
  parentOf: (pid) => {
    const parent = statOf(pid)?.[1];
    return parent === undefined ? undefined : Number(parent);
  },
  leadsSession: (pid) => statOf(pid)?.[3] === String(pid),
  isLaunched(pid) {
    try {
      // npm, pnpm and yarn set this variable for their child processes, which pass it on.
      return readFileSync(`/proc/${pid}/environ`, "latin1")
        .split("\0")
        .some((text) => text.startsWith("npm_config_user_agent="));
    } catch {
      return false;
    }
  },
};

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
  /** Calls `onGone` when the package manager that launched the process has ended. @returns a function that ends the watch */
  readonly watchLauncher: (onGone: () => void) => () => void;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
}

/**
 * A second signal within this time counts as the first one, delivered twice: a terminal sends a signal to the whole process
 * group, and a launcher such as `node --watch` passes on the one that it gets.
 */
const SAME_SIGNAL_MS = 500;

/**
 * Returns the signals of a command, to which it listens once `untilStopped` is called. SIGTERM, SIGINT, SIGHUP and the end
 * of the launcher ask for a graceful stop; a second SIGTERM or SIGINT ends the process at once. A SIGHUP never counts as
 * the second signal, because closing terminals, and some supervisors, send it together with another signal.
 */
export function createSignals({ source, watchLauncher: watch, monotonic }: SignalsOptions): Signals {
  return {
    untilStopped: () =>
      new Promise((resolve) => {
        let stoppingSince: number | undefined;
        const stop = () => {
          stoppingSince ??= monotonic();
          endWatch();
          resolve();
        };
        const endWatch = watch(stop);
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

/** How long a process in which something hangs may take to stop: longer than running requests may take to end. */
const HUNG_STOP_TIMEOUT_MS = 30_000;

/**
 * Makes a process in which something hangs stop gracefully, and kills it if it does not succeed in time.
 * @param stopTimeoutMs how long the graceful stop may take
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

/** Ends this process at once. `process.exit` would wait for file operations, forever if a file system hangs. */
export function killThisProcess(): void {
  process.kill(process.pid, "SIGKILL");
}

/** How long a process that is told to stop may take to finish its start. If the start hangs, no second signal is needed. */
const START_TIMEOUT_MS = 10_000;

/**
 * Runs the start of a process that may be told to stop meanwhile. The start finishes, so that the process can stop
 * gracefully. If the start takes too long, the process exits; an embedded PostgreSQL then stops by itself.
 */
export async function startUnlessStopped<Started>(
  stopped: Promise<void>,
  exit: (status: number) => void,
  start: () => Promise<Started>,
): Promise<Started> {
  let isReady = false;
  const exitUnlessReady = () => {
    if (!isReady) exit(1);
  };
  stopped.then(
    () => setTimeout(exitUnlessReady, START_TIMEOUT_MS).unref(),
    () => undefined,
  );
  try {
    return await start();
  } finally {
    isReady = true;
  }
}
