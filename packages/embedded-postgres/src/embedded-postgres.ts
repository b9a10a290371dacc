import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findNative, runnableBinaries } from "./binaries.ts";
import { assertSameMajorVersion, createCluster, dataOf, findHome } from "./cluster.ts";
import {
  type Connection,
  connectionStringOf,
  ensureDatabase,
  isPassing,
  readConnection,
  runAsSuperuser,
} from "./configuration.ts";
import {
  ensureDataDir,
  ensureLockFile,
  type KernelLock,
  tryExclusiveLock,
  trySharedLock,
  waitForLock,
} from "./data-directory.ts";
import type { LogEvent } from "./events.ts";
import { isRoot } from "./operating-system.ts";
import { findFullDisk, type Postmaster } from "./postmaster.ts";
import { type Cluster, ensureRunning, socketDirectoryOf, stop } from "./server.ts";
import { supervise, type Supervisor, watchForSurvivor } from "./supervisor.ts";

export type EmbeddedPostgresOptions = {
  /** The directory of the database; created if missing. Relative paths count from the working directory. */
  dataDir: string;
  log: LogEvent;
  /**
   * The directory for binaries and clusters when the process runs as root, and PostgreSQL's account has no access to the
   * installed binaries or to `dataDir`, or other accounts may write in `dataDir`. Default /var/lib/bikeshare.
   */
  systemDirectory?: string;
  /** The accounts that PostgreSQL may run as when the process runs as root, best first. Default postgres, then nobody. */
  accounts?: readonly string[];
  /** Seconds for which PostgreSQL keeps running after this process was killed, for a new process to join. Default 15. */
  survivorSeconds?: number;
  /** False for the database of a test: writes do not wait for the disk, and a power cut may destroy it. Default true. */
  isDurable?: boolean;
  /**
   * True for the database of a test: where possible it is reached through a Unix socket in its data directory, which takes a
   * quarter less processor time for a short query than TCP. Not every file system has sockets. Default false.
   */
  hasSocket?: boolean;
};

export type EmbeddedPostgres = {
  /** The connection string for the service's role and database. It stays valid when PostgreSQL is restarted. */
  connectionString: string;
  /** Runs statements in the service's database as the superuser, for changes that the service's role must not undo. */
  asSuperuser(statements: string): Promise<void>;
  /** Returns how often PostgreSQL was restarted since this process opened it. */
  restartedCount(): number;
  /**
   * Returns PostgreSQL's message if, since this process opened it, it ended all connections because the disk was full.
   * Otherwise undefined. PostgreSQL writes the message into its log only.
   */
  findFullDisk(): Promise<string | undefined>;
  /** Stops using PostgreSQL; the last process that does so stops it. Later calls return the same promise. */
  close(): Promise<void>;
};

/**
 * Starts a PostgreSQL 18 on `dataDir`, or joins the one that already runs there, even if the process that started it was
 * killed. Until `close()`, a PostgreSQL that dies is started again.
 *
 * Two locks make this safe for any number of processes. A process holds `postgresql.lock` while it creates, starts, joins
 * or stops the server. All processes that use the server share `postgresql.users`.
 * @throws EmbeddedPostgresError with a message that says what to do
 *
 * @example
 * const database = await openEmbeddedPostgres({ dataDir: '.bikeshare', log: (event) => logger.info(event) })
 * const pool = new pg.Pool({ connectionString: database.connectionString })
 * await pool.end()
 * await database.close()
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { survivorSeconds = SURVIVOR_SECONDS } = options;
  const dataDir = await ensureDataDir(options.dataDir);
  const usersFile = join(dataDir, "postgresql.users");
  const mutexFile = join(dataDir, "postgresql.lock");
  const mutex = () => tryExclusiveLock(mutexFile);
  await ensureLockFile(usersFile);
  await ensureLockFile(mutexFile);
  const lock = await waitForLock(mutex);
  try {
    const cluster = await prepareCluster(dataDir, options);
    const isFirst = isUnused(usersFile);
    const user = await waitForLock(() => trySharedLock(usersFile));
    return await startOrJoin({ cluster, user, usersFile, mutexFile, mutex, survivorSeconds }, isFirst);
  } finally {
    lock.release();
  }
}

/**
 * This process as a user of a cluster. `user`: its shared lock on `postgresql.users`. `mutex` tries to take
 * `postgresql.lock`.
 */
type Membership = {
  cluster: Cluster;
  user: KernelLock;
  usersFile: string;
  mutexFile: string;
  mutex: () => KernelLock | undefined;
  survivorSeconds: number;
};

/**
 * Seconds for which PostgreSQL survives its last process. Too low: a process that a supervisor restarts comes too late to
 * join it. Too high: PostgreSQL surprises an operator who finds it still running after the service was killed.
 */
const SURVIVOR_SECONDS = 15;

/** Tells whether no process uses the server. Then nobody knows its port, and it may be moved to another one. */
function isUnused(usersFile: string): boolean {
  const alone = tryExclusiveLock(usersFile);
  alone?.release();
  return alone !== undefined;
}

/**
 * Starts PostgreSQL or joins the running one, and begins to watch it. Call it under `postgresql.lock`.
 * @param isFirst whether no other process uses the server, so that it may get another port
 */
async function startOrJoin(membership: Membership, isFirst: boolean): Promise<EmbeddedPostgres> {
  const { cluster, mutex, usersFile, mutexFile } = membership;
  const findFull = () => findFullDisk(dataOf(cluster.home));
  // A line of an earlier run, which `findFullDisk` does not report.
  const fullBefore = await findFull();
  // The watch begins before PostgreSQL starts, because this process may be killed at any moment afterwards.
  const watch = watchForSurvivor({ ...cluster, usersFile, mutexFile }, membership.survivorSeconds);
  try {
    const { running, connection } = await runWithDatabase(cluster, isFirst);
    const supervisor = supervise(cluster, running, mutex);
    let closing: Promise<void> | undefined;
    const close = () => (closing ??= closeOnce(membership, supervisor).finally(() => watch.end()));
    return {
      connectionString: connectionStringOf(connection, socketDirectoryOf(cluster, connection.port)),
      asSuperuser: (statements) => runAsSuperuser(connection, statements),
      restartedCount: supervisor.restartedCount,
      findFullDisk: async () => {
        const line = await findFull();
        return line === fullBefore ? undefined : line?.replace(/^.* PANIC: +/, "");
      },
      close,
    };
  } catch (error) {
    await leave(membership).finally(() => watch.end());
    throw error;
  }
}

/** Finds the cluster of `dataDir` or creates it, and finds programs that can run it. */
async function prepareCluster(dataDir: string, options: EmbeddedPostgresOptions): Promise<Cluster> {
  const { log, systemDirectory = "/var/lib/bikeshare", accounts = ["postgres", "nobody"] } = options;
  const { isDurable = true, hasSocket = false } = options;
  const home = await findHome(dataDir, { systemDirectory, accounts });
  const native = await findNative();
  // Binaries may be copied to the temporary directory, because they can be copied again. The database is never there.
  const copyBases = isRoot() ? [systemDirectory, join(tmpdir(), "bikeshare")] : [dataDir];
  const binaries = await runnableBinaries({ native, account: home.account, copyBases, log });
  if (home.isNew) {
    log({ event: "creating_cluster", directory: home.directory });
    await createCluster(home.directory, binaries, home.account);
    log({ event: "cluster_created", directory: home.directory });
  }
  await home.confirm();
  await assertSameMajorVersion(home.directory, native.version);
  return { home: home.directory, binaries, account: home.account, isDurable, hasSocket, log };
}

/** Starts PostgreSQL and logs in. If PostgreSQL dies in between, starts it again: the supervisor does not run yet. */
async function runWithDatabase(
  cluster: Cluster,
  isFirst: boolean,
): Promise<{ running: Postmaster; connection: Connection }> {
  const neverAborted = new AbortController().signal;
  for (let attempt = 1; ; attempt += 1) {
    const running = await ensureRunning(cluster, { mayMove: isFirst, signal: neverAborted });
    const connection = { ...(await readConnection(cluster.home)), port: running.port };
    try {
      await ensureDatabase(connection);
      return { running, connection };
    } catch (error) {
      // 300 attempts, 100 ms apart, take 30 s. The recovery after a crash takes less, unless the disk is very slow.
      if (!isPassing(error) || attempt >= 300) throw error;
      await sleep(100);
    }
  }
}

/** Ends the supervision first, so that the supervisor does not restart the PostgreSQL that is stopped here. */
async function closeOnce(membership: Membership, supervisor: Supervisor): Promise<void> {
  await supervisor.end();
  const lock = await waitForLock(membership.mutex);
  try {
    await leave(membership);
  } finally {
    lock.release();
  }
}

/** Stops PostgreSQL unless others use it. Call it under `postgresql.lock`, so that no process joins before the stop. */
async function leave({ cluster, user, usersFile }: Membership): Promise<void> {
  user.release();
  const alone = tryExclusiveLock(usersFile);
  if (!alone) {
    cluster.log({ event: "left_to_other_users" });
    return;
  }
  try {
    await stop(cluster);
  } finally {
    alone.release();
  }
}
