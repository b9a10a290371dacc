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
