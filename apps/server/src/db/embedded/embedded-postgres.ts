import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRoot } from "./account.ts";
import { runnableBinaries } from "./binaries.ts";
import { type Cluster, ensureRunning, stop } from "./cluster-server.ts";
import { assertSameMajorVersion, createCluster } from "./cluster.ts";
import { connectionStringOf, readConnection } from "./connection-file.ts";
import { ensureDatabase } from "./database.ts";
import type { LogEvent } from "./events.ts";
import { ensureDataDir, findHome } from "./home.ts";
import { ensureLockFile, type KernelLock, tryExclusiveLock, trySharedLock, waitForLock } from "./kernel-lock.ts";
import { findNative } from "./platform-package.ts";
import { type Supervisor, supervise } from "./supervisor.ts";

export type EmbeddedPostgresOptions = {
  /** What identifies the database; made if missing. Relative paths count from the working directory. */
  dataDir: string;
  log: LogEvent;
  /** As root: where the binaries and clusters go that PostgreSQL's account cannot reach in place. Default /var/lib/bikeshare. */
  systemDirectory?: string;
  /** As root: the accounts PostgreSQL may run as, best first. Default postgres, then nobody. */
  accounts?: readonly string[];
};

export type EmbeddedPostgres = {
  /** Of the service's own role and database. Stays true when PostgreSQL is restarted. */
  connectionString: string;
  /** How often PostgreSQL was gone and came back since it was opened. */
  restartedCount(): number;
  /** Leaves; the last user to leave stops PostgreSQL. Later calls return the same promise. */
  close(): Promise<void>;
};

/**
 * Runs our own PostgreSQL 18 on `dataDir`, or joins the one that already runs there, also one that a
 * killed process left behind. Whenever it dies it is started again until `close()`.
 * Errors: `EmbeddedPostgresError`, whose message says what to do.
 *
 * Two locks make this safe for any number of processes: `postgresql.lock` is held by the one that
 * changes something (create, start, join, stop), `postgresql.users` is shared by all that use the server.
 *
 * @example
 * const database = await openEmbeddedPostgres({ dataDir: '.bikeshare', log: (event) => logger.info(event) })
 * const pool = new pg.Pool({ connectionString: database.connectionString })
 * await pool.end()
 * await database.close()
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = await ensureDataDir(options.dataDir);
  const usersFile = join(dataDir, "postgresql.users");
  const mutexFile = join(dataDir, "postgresql.lock");
  const mutex = () => tryExclusiveLock(mutexFile);
  await ensureLockFile(usersFile);
  await ensureLockFile(mutexFile);
  const lock = await waitForLock(mutex);
  try {
    const cluster = await prepareCluster(dataDir, options);
    const user = await waitForLock(() => trySharedLock(usersFile));
    return await startOrJoin({ cluster, user, usersFile, mutex });
  } finally {
    lock.release();
  }
}

/** One user of a running cluster: its share of the users' lock, and the way to the lock under which things change. */
type Membership = { cluster: Cluster; user: KernelLock; usersFile: string; mutex: () => KernelLock | undefined };

async function startOrJoin(membership: Membership): Promise<EmbeddedPostgres> {
  const { cluster, mutex } = membership;
  try {
    const running = await ensureRunning(cluster, { mayMove: true, signal: new AbortController().signal });
    const connection = { ...(await readConnection(cluster.home)), port: running.port };
    await ensureDatabase(connection);
    const supervisor = supervise(cluster, running, mutex);
    let closing: Promise<void> | undefined;
    const close = () => {
      closing ??= closeOnce(membership, supervisor);
      return closing;
    };
    return { connectionString: connectionStringOf(connection), restartedCount: supervisor.restartedCount, close };
  } catch (error) {
    await leave(membership);
    throw error;
  }
}

async function prepareCluster(dataDir: string, options: EmbeddedPostgresOptions): Promise<Cluster> {
  const { log, systemDirectory = "/var/lib/bikeshare", accounts = ["postgres", "nobody"] } = options;
  const home = await findHome(dataDir, { systemDirectory, accounts });
  const native = await findNative();
  // Binaries may go to the temporary directory, they can be copied again; the database never does.
  const copyBases = isRoot() ? [systemDirectory, join(tmpdir(), "bikeshare")] : [dataDir];
  const binaries = await runnableBinaries({ native, account: home.account, copyBases, log });
  if (home.isNew) {
    await createCluster(home.directory, binaries, home.account);
    log({ event: "cluster_created", directory: home.directory });
  }
  await home.confirm();
  await assertSameMajorVersion(home.directory, native.version);
  return { home: home.directory, binaries, account: home.account, log };
}

async function closeOnce(membership: Membership, supervisor: Supervisor): Promise<void> {
  await supervisor.end();
  const lock = await waitForLock(membership.mutex);
  try {
    await leave(membership);
  } finally {
    lock.release();
  }
}

/** Stops PostgreSQL unless others use it. Called under the lock, so that nobody joins between the look and the stop. */
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
