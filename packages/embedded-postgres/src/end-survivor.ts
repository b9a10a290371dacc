/*
 * A program that stops a PostgreSQL whose last process was killed. The watch of supervisor.ts starts it some seconds after
 * the kill. It takes two locks: whoever holds that of `mutexFile` may start, join or stop PostgreSQL, and every process that
 * uses PostgreSQL shares that of `usersFile`.
 */
import { tryExclusiveLock, waitForLock } from "./data-directory.ts";
import type { Account } from "./operating-system.ts";
import { stop } from "./server.ts";

/** What the program needs to know of the PostgreSQL. */
export type SurvivorTask = {
  readonly home: string;
  readonly binaries: string;
  readonly account: Account | undefined;
  readonly usersFile: string;
  readonly mutexFile: string;
};

/** Stops the surviving PostgreSQL unless another process uses it or has joined it meanwhile. */
async function endSurvivor({ home, binaries, account, usersFile, mutexFile }: SurvivorTask): Promise<void> {
  // Under the lock, so that no process joins between the check and the stop.
  const lock = await waitForLock(() => tryExclusiveLock(mutexFile));
  try {
    const alone = tryExclusiveLock(usersFile);
    if (alone === undefined) return;
    await stop({ home, binaries, account, log: () => undefined });
    alone.release();
  } finally {
    lock.release();
  }
}

// The shell of supervisor.ts runs this file as a program; nothing reads its output.
await endSurvivor(JSON.parse(process.argv[2] ?? "") as SurvivorTask);
