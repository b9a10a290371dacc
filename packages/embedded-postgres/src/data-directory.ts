import { open, realpath } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedPostgresError, isRoot, makeDirectory, systemCode } from "./operating-system.ts";

/* Makes the data directory, and the locks on files in it by which processes share one PostgreSQL. */

/** Makes the data directory if it is missing, and returns its path without symbolic links. */
export async function ensureDataDir(dataDir: string): Promise<string> {
  // Root makes it 0711, because PostgreSQL's account must pass through it. Every file with a secret is 0600 in any case.
  makeDirectory(dataDir, isRoot() ? 0o711 : 0o700);
  return realpath(dataDir);
}

/** A lock that ends with `release()` or with the process, whichever comes first. */
export type KernelLock = { release(): void };

/** Creates the empty file of a lock, readable by its owner only: anybody who may read it could hold the lock. */
export async function ensureLockFile(file: string): Promise<void> {
  try {
    // Exclusive creation does not open an existing file. Opening and closing it would drop the locks of this process.
    await (await open(file, "wx", 0o600)).close();
  } catch (error) {
    if (systemCode(error) === "EEXIST") return;
    throw new EmbeddedPostgresError(
      `${file} cannot be made. Make its directory writable for this account, or choose another DATA_DIR.`,
      { cause: error },
    );
  }
}

/**
 * Takes a lock of the operating system on a file, or returns undefined if another process holds one. It goes through an
 * empty SQLite database, because Node has no other interface to such locks. The kernel releases the lock when the process
 * dies, however it dies, so a lock is never stale. It also works between containers that share a volume.
 *
 * The file stays empty and is never deleted: after a deletion two processes could lock two files of the same name. Nothing
 * else may open the file: on POSIX systems closing any handle of a file drops the process's locks on it.
 */
export function tryExclusiveLock(file: string): KernelLock | undefined {
  return tryLock(file, (database) => {
    database.exec("begin exclusive");
  });
}

/** Takes a lock that many processes can hold at once. While one of them holds it, `tryExclusiveLock` returns undefined. */
export function trySharedLock(file: string): KernelLock | undefined {
  return tryLock(file, (database) => {
    database.exec("begin");
    // SQLite takes the shared lock at the first read of the transaction.
    database.prepare("select count(*) from sqlite_schema").get();
  });
}

/** Waits for a lock. When `signal` is aborted, throws its reason, or an `AbortError` with the reason as its cause. */
export async function waitForLock(attempt: () => KernelLock | undefined, signal?: AbortSignal): Promise<KernelLock> {
  for (;;) {
    signal?.throwIfAborted();
    const lock = attempt();
    if (lock) return lock;
    // Too low: costs processor time while another process runs initdb (half a second). Too high: delays a start that has
    // to wait for another one.
    await sleep(10, undefined, signal ? { signal } : {});
  }
}

function tryLock(file: string, take: (database: DatabaseSync) => void): KernelLock | undefined {
  const database = openLockFile(file);
  try {
    // With a journal on disk SQLite would write a file for each exclusive lock, and a full disk would prevent locking.
    database.exec("pragma journal_mode = memory");
    take(database);
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

function openLockFile(file: string): DatabaseSync {
  try {
    // Timeout 0: SQLite's own waiting would block the event loop.
    return new DatabaseSync(file, { timeout: 0 });
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `${file} cannot be opened. Start as the account that owns it, or choose another DATA_DIR.`,
      { cause },
    );
  }
}

const SQLITE_BUSY = 5;

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}
