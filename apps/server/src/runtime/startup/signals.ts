import { readFileSync } from "node:fs";

/** The process table of this machine. */
export interface Processes {
  /** Undefined: there is no such process. */
  parentOf(pid: number): number | undefined;
  /** Whether a package manager (npm, npx, pnpm, yarn) is among its ancestors. */
  isLaunched(pid: number): boolean;
  /** Tells whether it leads a session, as daemons and programs started by `setsid` do. */
  leadsSession(pid: number): boolean;
}

/** A process and its parent, between this process and the package manager that the user called. */
interface ParentLink {
  readonly child: number;
  readonly parent: number;
}

/** A poll is a few reads of /proc. */
const POLL_INTERVAL_MS = 1_000;

/**
 * Detects that the package manager that started the service has ended. `npx pnpm start` is a chain of processes (npx, pnpm,
 * sh, node): a person who ends the first one means the service, but a signal to it does not reach the others. A service
 * that was started without a package manager has no such chain and outlives its parent, so `nohup`, `setsid`, systemd and a
 * shell's `&` work as usual.
 * @returns ends the watch
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

/** Returns the chain up to the topmost package manager; empty where there is none. */
export function ancestorsOf(processes: Processes, pid: number): ParentLink[] {
  const chain: ParentLink[] = [];
  let child = pid;
  while (processes.isLaunched(child) && !processes.leadsSession(child)) {
    const parent = processes.parentOf(child);
    if (parent === undefined || parent <= 1) return chain;
    chain.push({ child, parent });
    child = parent;
  }
  return chain;
}

/** Tells whether a process of the chain has ended: the system gives its children another parent. */
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
      // npm, pnpm and yarn set it for their child processes, which pass it on.
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
