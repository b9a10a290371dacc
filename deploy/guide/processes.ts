import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

/** Tells whether a process has ended, by itself or by a signal. */
export function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/**
 * Waits until a process has a child.
 * @param isWanted tells whether a child, of which it gets the pid, is the right one
 * @returns the pid of the child; undefined: the process has ended, or has had no such child for 10 s
 */
export async function waitForChild(
  parent: ChildProcess,
  isWanted: (child: string) => boolean = () => true,
): Promise<number | undefined> {
  for (let tries = 0; tries < 100 && !hasEnded(parent); tries++) {
    const children = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, "utf8").trim().split(" ");
    const child = children.filter(Boolean).find(isWanted);
    if (child !== undefined) return Number(child);
    await wait(100);
  }
  return undefined;
}
