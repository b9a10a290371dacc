import { spawn } from "node:child_process";
import { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { SurvivorTask } from "./end-survivor.ts";

/** Sees to it that PostgreSQL does not outlive us for long. */
export interface SurvivorWatch {
  /** We have left in order: nothing is to be done. */
  end(): void;
}

/**
 * Starts a shell that waits for our end. It reads from a pipe of which we alone hold the other side, so that the kernel
 * tells it, however we end; by a word over the pipe we say that we left in order. Otherwise it waits for a successor
 * to join, and then runs `end-survivor`, which stops PostgreSQL unless somebody uses it. A shell, because it waits for
 * days: it takes a megabyte, where a second Node.js takes fifty.
 * On Windows there is none: PostgreSQL waits for the next start there.
 */
export function watchForSurvivor(task: SurvivorTask, graceSeconds: number): SurvivorWatch {
  if (process.platform === "win32") return { end: () => undefined };
  const program = fileURLToPath(new URL(`end-survivor${import.meta.url.slice(-3)}`, import.meta.url));
  const conditions = process.execArgv.filter((word) => word.startsWith("--conditions="));
  const shell = spawn(
    "/bin/sh",
    ["-c", SCRIPT, "sh", String(graceSeconds), process.execPath, ...conditions, program, JSON.stringify(task)],
    // A session of its own: what ends our terminal or our process group must not end the watch before us.
    { cwd: "/", detached: true, stdio: ["pipe", "ignore", "ignore"], env: { NODE_NO_WARNINGS: "1" } },
  );
  // Without a shell PostgreSQL waits for the next start, as it did before.
  shell.on("error", () => undefined);
  shell.stdin.on("error", () => undefined);
  shell.unref();
  // The pipe must not keep us alive.
  if (shell.stdin instanceof Socket) shell.stdin.unref();
  return { end: () => void shell.stdin.end("left\n") };
}

/** `read` fails at the end of a pipe that brought no line. */
const SCRIPT = 'read -r _ && exit 0; sleep "$1"; shift; exec "$@"';
