import { readFileSync } from "node:fs";

/** What is known of the processes of this machine. */
export interface Processes {
  /** Undefined: there is no such process. */
  parentOf(pid: number): number | undefined;
  /** Whether a package manager (npm, npx, pnpm, yarn) started it, or what it was started by. */
  isLaunched(pid: number): boolean;
  /** Whether it is the first of a session of its own, as `setsid` and daemons are. */
  leadsSession(pid: number): boolean;
}

/** One step of the way from us up to the package manager that somebody called. */
interface Link {
  readonly child: number;
  readonly parent: number;
}

/** Milliseconds between two looks: a few reads of /proc. */
const LOOK_MS = 1_000;

/**
 * Notices that the package manager through which the service was started is gone. `npx pnpm start` is a chain of
 * processes (npx, pnpm, sh, node): whoever ends the first one means the service, but a signal to it reaches none of the
 * others. A service that was started without a package manager has no such chain, and what starts it may go: `nohup`,
 * `setsid`, systemd and a shell's `&` stay what they are.
 * @returns ends the watch
 */
export function watchLauncher(onGone: () => void): () => void {
  const links = process.platform === "linux" ? linksOf(linuxProcesses, process.pid) : [];
  if (links.length === 0) return () => undefined;
  const timer = setInterval(() => {
    if (!isCut(linuxProcesses, links)) return;
    clearInterval(timer);
    onGone();
  }, LOOK_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The way up to the topmost package manager; empty where there is none. Who called that one does not matter. */
export function linksOf(processes: Processes, pid: number): Link[] {
  const links: Link[] = [];
  let child = pid;
  while (processes.isLaunched(child) && !processes.leadsSession(child)) {
    const parent = processes.parentOf(child);
    if (parent === undefined || parent <= 1) return links;
    links.push({ child, parent });
    child = parent;
  }
  return links;
}

/** Whether somebody on the way up has gone: the system gives the children of a process that ends to another one. */
export function isCut(processes: Processes, links: readonly Link[]): boolean {
  return links.some(({ child, parent }) => processes.parentOf(child) !== parent);
}

/** The fields of /proc/<pid>/stat behind the name, which may hold anything: state, parent, group, session, … */
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
      // npm, pnpm and yarn all set it for what they start; it is handed down from process to process.
      return readFileSync(`/proc/${pid}/environ`, "latin1")
        .split("\0")
        .some((text) => text.startsWith("npm_config_user_agent="));
    } catch {
      return false;
    }
  },
};
